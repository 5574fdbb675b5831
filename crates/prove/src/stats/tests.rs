//! Known distributions, and a table of another implementation.

use super::*;

/// A standard normal number (Box and Muller 1958).
fn normal(random: &mut Random) -> f64 {
    let (u, v) = (1.0 - random.unit(), random.unit());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// Student's t with two degrees of freedom, whose variance is infinite; by its inverse.
fn heavy(random: &mut Random) -> f64 {
    let p = random.unit().max(1e-12);
    (2.0 * p - 1.0) / (2.0 * p * (1.0 - p)).sqrt()
}

const ROUNDS: usize = 600;

/// A number of some distribution.
type Draw = fn(&mut Random) -> f64;

/// In how many of [`ROUNDS`] samples of `n` the interval holds the distribution's median; in how
/// many it lies wholly below it.
fn rounds(n: usize, truth: f64, draw: Draw) -> (usize, usize) {
    let mut random = Random::new(n as u64);
    let (mut holds, mut below) = (0, 0);
    for _ in 0..ROUNDS {
        let sample: Vec<f64> = (0..n).map(|_| draw(&mut random)).collect();
        let (low, high) = interval(&sample);
        holds += usize::from(low <= truth && truth <= high);
        below += usize::from(high < truth);
    }
    (holds, below)
}

#[test]
fn the_interval_covers_the_median() {
    let distributions: [(&str, f64, Draw); 4] = [
        ("normal", 0.0, normal),
        ("lognormal", 1.0, |random| normal(random).exp()),
        ("heavy tails", 0.0, heavy),
        ("uniform", 0.5, Random::unit),
    ];
    for (name, truth, draw) in distributions {
        for n in [10, 30, 100] {
            let (holds, below) = rounds(n, truth, draw);
            let coverage = holds as f64 / ROUNDS as f64;
            // Three standard deviations of a binomial share around 95 % are 2.7 %; the bootstrap
            // of a median is known to be a little narrow or wide in small samples.
            assert!((0.91..=0.985).contains(&coverage), "{name}, {n}: {coverage}");
            let false_proofs = below as f64 / ROUNDS as f64;
            assert!(false_proofs <= 0.05, "{name}, {n}: {false_proofs}");
        }
    }
}

#[test]
fn a_real_difference_is_found() {
    let mut random = Random::new(5);
    let sample: Vec<f64> = (0..100).map(|_| normal(&mut random) - 1.0).collect();
    let (low, high) = interval(&sample);
    assert!(low < -1.0 && high > -1.0 && high < -0.5, "{low} {high}");
}

/// `scripts/reference-statistics` made it with SciPy: medians and deviations are to be equal, the
/// intervals, which are random, within a tenth of their width.
#[test]
fn another_implementation_agrees() {
    let table = include_str!("reference.tsv");
    let rows = table.lines().filter(|line| !line.starts_with('#'));
    let mut compared = 0;
    for row in rows {
        let mut columns = row.split('\t');
        let mut next = || columns.next().unwrap();
        let (name, sample) = (next(), next());
        let sample: Vec<f64> = sample.split(' ').map(|x| x.parse().unwrap()).collect();
        let [centre, deviation, low, high]: [f64; 4] =
            std::array::from_fn(|_| next().parse().unwrap());
        assert!((median(&sample) - centre).abs() < 1e-9, "{name}");
        assert!((spread(&sample) - deviation).abs() < 1e-3 * deviation, "{name}");
        let (our_low, our_high) = interval(&sample);
        let tenth = (high - low) / 10.0;
        assert!((our_low - low).abs() <= tenth, "{name}: {our_low} and {low}");
        assert!((our_high - high).abs() <= tenth, "{name}: {our_high} and {high}");
        compared += 1;
    }
    assert!(compared >= 6, "{compared}");
}

#[test]
fn few_values_are_no_trouble() {
    assert!(median(&[]).is_nan() && interval(&[]).0.is_nan());
    assert_eq!((median(&[3.0]), interval(&[3.0])), (3.0, (3.0, 3.0)));
    assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    assert_eq!((spread(&[1.0, 1.0]), outliers(&[1.0, 1.0, 9.0])), (0.0, 0));
}

#[test]
fn outliers_are_counted() {
    let mut values: Vec<f64> = (0..50).map(|n| 100.0 + f64::from(n % 7)).collect();
    assert_eq!(outliers(&values), 0);
    values.push(1_000.0);
    assert_eq!(outliers(&values), 1);
}
