//! At which calls a snapshot of the stack is taken: ever rarer ones.

/// Snapshots in sequence: a program that asks from two or three places in turn shows all of them.
const IN_A_ROW: u64 = 4;

/// How many calls a snapshot at the `hit`th call stands for: taken at the second, and at the 8th, the
/// 64th and each further power of 8 with the three that follow. 0: none is taken.
pub(crate) fn sample_weight(hit: u64) -> u64 {
    if hit == 2 {
        return 2;
    }
    let Some(exponent) = hit.checked_ilog(8).filter(|e| *e > 0) else { return 0 };
    let first = 8u64.pow(exponent);
    let at = hit - first;
    if at >= IN_A_ROW {
        return 0;
    }
    // The last call that the earlier snapshots stand for.
    let before = if exponent == 1 { 2 } else { first / 8 + IN_A_ROW - 1 };
    let calls = first + IN_A_ROW - 1 - before;
    calls / IN_A_ROW + u64::from(at < calls % IN_A_ROW)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_get_rarer_and_their_weights_add_up() {
        let taken: Vec<u64> = (0..600).filter(|hit| sample_weight(*hit) > 0).collect();
        assert_eq!(taken, [2, 8, 9, 10, 11, 64, 65, 66, 67, 512, 513, 514, 515]);
        for last in [2, 11, 67, 515, 4099] {
            assert_eq!((0..=last).map(sample_weight).sum::<u64>(), last);
        }
    }
}
