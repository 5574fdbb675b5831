//! Zones to test, and random numbers.

use needless_fixtures::needed;
use std::path::{Path, PathBuf};

/// Marsaglia's xorshift: the same numbers for the same seed.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// 0 up to, not including, `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % end
    }
}

/// TZ strings.
pub(crate) const TEXTS: [&str; 9] = [
    "UTC0",
    "JST-9",
    "<+0330>-3:30",
    "ABC24:59:59",
    "EST5EDT,M3.2.0,M11.1.0",
    "CET-1CEST,M3.5.0,M10.5.0/3",
    "AEST-10AEDT,M10.1.0,M4.1.0/3",
    "<-03>3<-02>,M3.5.0/-2,M10.5.0/-1",
    "IST-1GMT0,M10.5.0,M3.5.0/1",
];

/// Those in which a change of the clock belongs to another year, or the order of the two is not the same each year: there
/// libraries differ.
pub(crate) const ODD: [&str; 5] = [
    "EST5EDT,0/0,J365/25",
    "XXX0YYY,J60/0,59/23",
    "AAA12BBB,J1/0,J365/23",
    "ABC5DEF,M2.5.0,M2.5.1",
    "AAA3BBB,M11.3.1,J321/10",
];

/// The names and contents of all installed zone files.
pub(crate) fn installed() -> Vec<(String, Vec<u8>)> {
    let root = Path::new("/usr/share/zoneinfo");
    let mut found = Vec::new();
    let mut open: Vec<PathBuf> = vec![root.into()];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(
                std::fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()),
            );
        } else if let Ok(bytes) = std::fs::read(&path)
            && bytes.starts_with(b"TZif")
        {
            let name = path.strip_prefix(root).expect("below the root");
            found.push((name.display().to_string(), bytes));
        }
    }
    found.sort();
    let why = format!("no zone files in {}", root.display());
    needed((!found.is_empty()).then_some(found).ok_or(why)).unwrap_or_default()
}
