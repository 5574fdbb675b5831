//! Random numbers, the same for the same seed. Not for secrets.

/// SplitMix64 (Steele, Lea and Flood 2014): a counter, mixed.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence for this seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// Any 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is not 0. Its bias is below `end` / 2^64.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.bits()) * end as u128) >> 64) as usize
    }

    /// A number from 0 to 1, without 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_that_of_the_published_algorithm() {
        // The first outputs for seed 1234567, as published with other implementations.
        let mut random = Random::new(1_234_567);
        let first = [random.bits(), random.bits(), random.bits()];
        assert_eq!(
            first,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn numbers_below_an_end_are_even() {
        let mut random = Random::new(1);
        let mut seen = [0u32; 7];
        for _ in 0..70_000 {
            seen[random.below(7)] += 1;
        }
        // 5 standard deviations of a binomial count.
        assert!(seen.iter().all(|n| (9_540..10_460).contains(n)), "{seen:?}");
    }
}
