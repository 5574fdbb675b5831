//! A fleet that does not exist: windows of many hosts, made from a seed, and written with the agent's own writer.
//!
//! What is planted, so that each question of `sql/` has an answer:
//!
//! | what | where |
//! |---|---|
//! | `tz-unset` in `nginx.service` | every third host; every ninth has it no more in the second half of the time |
//! | `needless fix` changed `TZ` for `nginx.service` | every eighteenth host, in the second half: it helped; hosts 3, 21, 39 …, in the last quarter: it did not |
//! | `python-path` in `app.service`, with `PYTHONPATH` | hosts with `env=production`, all the time |
//! | `locale-alias` in `batch.service` | every second host, in the last quarter of the time only |
//! | `user-lookup`, perhaps, in `old.service` | every fifth host; the service ends with the first half of the time |
//! | `tz-unset` in a row without service and program, as rows are that find no room | every sixth host |
//! | calls that no rule explains | every host, in `app.service` |
//! | a `sample_scale` of 2.5 | every fourth host |
//! | lost events | every eleventh host |
//! | an older version | every seventh host; the others change to the newer one with the first quarter |
//! | the rest of the rows | programs of `filler-N.service`, whose calls are needed |

use needless_fleet::{AgentWindow, Dimensions, Fate, Measures};
use std::io;
use std::path::Path;

/// Microseconds in a day.
const DAY_US: i64 = 86_400_000_000;

/// Which fleet: the same numbers give the same files, byte for byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fleet {
    /// What the numbers of calls are made from.
    pub seed: u64,
    /// How many hosts.
    pub hosts: u32,
    /// For how many days.
    pub days: u32,
    /// Windows of each host and day: 288 are five minutes each, 24 are an hour.
    pub windows: u32,
    /// Rows of each window, at least 8.
    pub rows: u32,
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Files, one for each window.
    pub files: u64,
    /// Rows of all files.
    pub rows: u64,
    /// Bytes of all files.
    pub bytes: u64,
}

/// A window and its rows.
pub type Window = (AgentWindow, Vec<(Dimensions, Measures)>);

impl Fleet {
    /// 2026-11-01 in microseconds since 1970: the start of the first day.
    pub const START_US: i64 = 1_793_491_200_000_000;

    /// The windows in order: day by day, of each day host by host.
    pub fn all(self) -> impl Iterator<Item = Window> {
        (0..self.days).flat_map(move |day| self.day(day))
    }

    /// The windows of a day, host by host.
    pub fn day(self, day: u32) -> impl Iterator<Item = Window> {
        (0..self.hosts).flat_map(move |host| {
            (0..self.windows).map(move |n| self.window(host, day * self.windows + n))
        })
    }

    /// Writes each window into a folder of its day below `folder`, as a host's agent would name it.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(self, folder: &Path) -> io::Result<Written> {
        let mut written = Written::default();
        for day in 0..self.days {
            self.write_day(folder, day, &mut written)?;
        }
        Ok(written)
    }

    /// Writes the windows of one day, as [`Fleet::write`] does, and adds to what was written.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write_day(self, folder: &Path, day: u32, written: &mut Written) -> io::Result<()> {
        let folder = folder.join(format!("day-{day:03}"));
        std::fs::create_dir_all(&folder)?;
        for (window, rows) in self.day(day) {
            let bytes = needless_fleet::parquet(&window, &rows).map_err(io::Error::other)?;
            std::fs::write(folder.join(file_name(&window)), &bytes)?;
            written.files += 1;
            written.rows += rows.len() as u64;
            written.bytes += bytes.len() as u64;
        }
        Ok(())
    }

    /// When and where the window `n` of a host was observed.
    fn about(self, host: u32, n: u32) -> AgentWindow {
        let length = DAY_US / i64::from(self.windows.max(1));
        let start_us = Self::START_US + i64::from(n) * length;
        let env = if is_production(host) { "production" } else { "test" };
        let is_old = host % 7 == 3 || n < self.days * self.windows / 4;
        AgentWindow {
            start_us,
            end_us: start_us + length,
            host: format!("host-{host:06}"),
            labels: format!("env={env},site=s{}", host % 3),
            sample_scale: if host % 4 == 2 { 2.5 } else { 1.0 },
            version: if is_old { "0.1.0" } else { "0.2.0" }.to_owned(),
            ..AgentWindow::default()
        }
    }

    /// The window `n` of a host.
    fn window(self, host: u32, n: u32) -> Window {
        let all = self.days * self.windows;
        let (early, late) = (n < all / 2, n >= all - all / 4);
        let mut dice = Dice(self.seed ^ (u64::from(host) << 32) ^ u64::from(n));
        let lost = if host % 11 == 4 { dice.up_to(50) } else { 0 };
        let mut rows = vec![(Dimensions::default(), Measures { lost, ..Measures::default() })];
        let nginx = needed("nginx.service", "nginx", "newfstatat");
        if host.is_multiple_of(3) && (early || !host.is_multiple_of(9)) {
            rows.push(dice.needless(&nginx, Fate::Needless, "tz-unset", Some("TZ")));
        }
        if (host.is_multiple_of(18) && !early) || (host % 18 == 3 && late) {
            let variable = Some("TZ".to_owned());
            let (call, program) = (None, None);
            let row = Dimensions { variable, fate: Fate::Applied, call, program, ..nginx.clone() };
            rows.push((row, Measures::default()));
        }
        let app = needed("app.service", "gunicorn (python3)", "openat");
        if is_production(host) {
            rows.push(dice.needless(&app, Fate::Needless, "python-path", Some("PYTHONPATH")));
        }
        if host.is_multiple_of(2) && late {
            let batch = needed("batch.service", "report (perl)", "openat");
            rows.push(dice.needless(&batch, Fate::Needless, "locale-alias", Some("LANG")));
        }
        if host.is_multiple_of(5) && early {
            let old = needed("old.service", "old", "read");
            rows.push(dice.needless(&old, Fate::Perhaps, "user-lookup", None));
        }
        if host.is_multiple_of(6) {
            rows.push(dice.needless(&Dimensions::default(), Fate::Needless, "tz-unset", None));
        }
        let calls = dice.up_to(900);
        let unexplained = Dimensions { fate: Fate::NotExplained, ..app.clone() };
        rows.push((unexplained, Measures { calls, failed: calls, ..Measures::default() }));
        rows.push(dice.needed(nginx));
        rows.push(dice.needed(app));
        for n in 0..(self.rows.max(8) as usize).saturating_sub(rows.len()) {
            let call = ["read", "write", "futex", "epoll_wait", "close"][n % 5];
            let service = format!("filler-{:02}.service", n / 5);
            rows.push(dice.needed(needed(&service, &service[..9], call)));
        }
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        (self.about(host, n), rows)
    }
}

fn is_production(host: u32) -> bool {
    host % 2 == 1
}

/// The name that the agent's ring gives to the file of a window.
pub fn file_name(window: &AgentWindow) -> String {
    format!("needless-{:016}-{}.parquet", window.start_us, window.host)
}

fn needed(service: &str, program: &str, call: &str) -> Dimensions {
    Dimensions {
        service: Some(service.to_owned()),
        program: Some(program.to_owned()),
        call: Some(call.to_owned()),
        ..Dimensions::default()
    }
}

/// Numbers that look like chance: SplitMix64 (Steele, Lea and Flood, 2014).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 1 to `most`.
    fn up_to(&mut self, most: u64) -> i64 {
        (self.next() % most) as i64 + 1
    }

    fn needed(&mut self, row: Dimensions) -> (Dimensions, Measures) {
        let (calls, cpu_ns) = (self.up_to(1_000_000), self.up_to(2_000_000_000));
        let failed = self.up_to(1000).min(calls);
        (row, Measures { calls, failed, cpu_ns, ..Measures::default() })
    }

    fn needless(
        &mut self,
        row: &Dimensions,
        fate: Fate,
        cause: &str,
        variable: Option<&str>,
    ) -> (Dimensions, Measures) {
        let calls = self.up_to(100_000);
        let saves_ns = calls * (300 + self.up_to(700));
        let (cause, variable) = (Some(cause.to_owned()), variable.map(str::to_owned));
        let row = Dimensions { fate, cause, variable, ..row.clone() };
        (row, Measures { calls, needless: calls, saves_ns, ..Measures::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_window_is_as_an_agent_writes_it() {
        let fleet = Fleet { seed: 1, hosts: 12, days: 2, windows: 4, rows: 20 };
        let all: Vec<_> = fleet.all().collect();
        assert_eq!(all, fleet.all().collect::<Vec<_>>());
        assert_eq!(all.len(), 12 * 2 * 4);
        let names: BTreeSet<_> = all.iter().map(|(window, _)| file_name(window)).collect();
        assert_eq!(names.len(), all.len());
        for (window, rows) in &all {
            assert_eq!(window.end_us - window.start_us, DAY_US / 4);
            assert_eq!(rows.len(), 20);
            let of: BTreeSet<_> = rows.iter().map(|(row, _)| row).collect();
            assert_eq!(of.len(), rows.len(), "of each combination a window has one row");
            assert!(of.contains(&Dimensions::default()));
        }
    }
}
