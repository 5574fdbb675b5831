//! Any bytes as a strace log: no panic, errors of one line, sums that agree.
#![no_main]

use libfuzzer_sys::fuzz_target;
use needless_model::Limits;
use needless_strace_log::{ReadOptions, read};

fuzz_target!(|bytes: &[u8]| {
    let options = ReadOptions {
        // Few rows, so that folding is reached.
        limits: Limits { rows: 64, ..Limits::default() },
        watch: ["TZ", "LANG"].into(),
    };
    match read(bytes, "log", &options) {
        Ok(profile) => {
            let sum: u64 = profile.rows.iter().map(|row| row.count).sum();
            assert_eq!(sum, profile.totals.calls);
            assert!(profile.totals.path_calls <= profile.totals.calls);
            assert!(profile.rows.iter().all(|row| row.repeated < row.count.max(1)));
        }
        Err(error) => assert_eq!(error.to_string().lines().count(), 1),
    }
});
