//! Medians and their confidence intervals.
//!
//! Times of runs have a long tail, so means are no use. The percentile bootstrap covers what it promises for such data
//! from six pairs on (tests simulate it), and a reader can repeat it.

use crate::Random;

/// Resamples of the bootstrap: enough for two digits of the interval's ends.
const RESAMPLES: usize = 4_000;
/// The same data give the same interval.
const SEED: u64 = 20_170_221;
/// A value this many (scaled) median deviations above the median is an outlier.
const FAR: f64 = 10.0;

/// The middle value, or the mean of the two middle values; NaN if there are none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    middle(&mut sorted)
}

fn middle(values: &mut [f64]) -> f64 {
    let n = values.len();
    if n == 0 {
        return f64::NAN;
    }
    let (low, upper, _) = values.select_nth_unstable_by(n / 2, f64::total_cmp);
    let upper = *upper;
    match n % 2 {
        1 => upper,
        _ => (low.iter().copied().fold(f64::NEG_INFINITY, f64::max) + upper) / 2.0,
    }
}

/// The 95 % interval of the median by the percentile bootstrap (Efron 1979): the data are drawn
/// again with replacement, and the middle 95 % of the medians are kept. `(NaN, NaN)` if there are none.
pub fn interval(values: &[f64]) -> (f64, f64) {
    if values.is_empty() {
        return (f64::NAN, f64::NAN);
    }
    let mut random = Random::new(SEED);
    let mut drawn = vec![0.0; values.len()];
    let mut medians: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            drawn.fill_with(|| values[random.below(values.len())]);
            middle(&mut drawn)
        })
        .collect();
    medians.sort_unstable_by(f64::total_cmp);
    (quantile(&medians, 0.025), quantile(&medians, 0.975))
}

/// The value below which this part of the sorted values lies, interpolated between neighbours
/// (Hyndman and Fan's type 7).
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let at = part * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    below + (above - below) * at.fract()
}

/// The median distance from the median, scaled to be the standard deviation of a normal
/// distribution.
pub fn spread(values: &[f64]) -> f64 {
    let centre = median(values);
    let distances: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    1.4826 * median(&distances)
}

/// How many values are so far above the median that another program must have disturbed the run.
pub fn outliers(values: &[f64]) -> usize {
    let (centre, spread) = (median(values), spread(values));
    values.iter().filter(|value| **value - centre > FAR * spread && spread > 0.0).count()
}

#[cfg(test)]
mod tests;
