//! What calls and runs cost: clock, CPU, page faults; and how to start the subjects.

use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeVal;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Clock and CPU time of one measurement, nanoseconds, and its page faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    pub(crate) real: u64,
    pub(crate) user: u64,
    pub(crate) sys: u64,
    /// Page faults that had to read from a disk.
    pub(crate) major: u64,
    /// Page faults that did not.
    pub(crate) minor: u64,
}

impl Spent {
    pub(crate) fn between(before: &Usage, after: &Usage, real: Duration) -> Spent {
        let faults =
            |of: fn(&Usage) -> libc::c_long| u64::try_from(of(after) - of(before)).unwrap_or(0);
        Spent {
            real: u64::try_from(real.as_nanos()).unwrap_or(u64::MAX),
            user: nanoseconds(after.user_time()).saturating_sub(nanoseconds(before.user_time())),
            sys: nanoseconds(after.system_time()).saturating_sub(nanoseconds(before.system_time())),
            major: faults(Usage::major_page_faults),
            minor: faults(Usage::minor_page_faults),
        }
    }

    /// User and kernel time.
    pub(crate) fn cpu(&self) -> u64 {
        self.user + self.sys
    }

    /// The first three words that a subject prints.
    pub(crate) fn line(&self) -> String {
        format!("{} {} {}", self.real, self.user, self.sys)
    }

    pub(crate) fn add(&mut self, other: &Spent) {
        self.real += other.real;
        self.user += other.user;
        self.sys += other.sys;
        self.major += other.major;
        self.minor += other.minor;
    }
}

fn nanoseconds(time: TimeVal) -> u64 {
    u64::try_from(time.tv_sec() * 1_000_000_000 + time.tv_usec() * 1_000).unwrap_or(0)
}

/// What this process (or the children that it waited for) has used until now.
pub(crate) fn usage(who: UsageWho) -> Usage {
    getrusage(who).expect("getrusage(2) fails only for arguments that the type does not allow")
}

/// How to start a subject.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SubjectRun<'a> {
    /// What it calls.
    pub(crate) function: &'a str,
    /// How often.
    pub(crate) calls: u64,
    /// `None`: unset.
    pub(crate) tz: Option<&'a str>,
    /// One of [`ETC_LOCALTIME`](crate::subject::ETC_LOCALTIME); `None`: the machine's own.
    pub(crate) etc_localtime: Option<&'a str>,
    /// The library to preload.
    pub(crate) preloaded: Option<&'a std::path::Path>,
}

/// What a subject printed.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) spent: Spent,
    /// Its C library ("glibc 2.36").
    pub(crate) library: String,
}

impl SubjectRun<'_> {
    /// Its program and arguments.
    pub(crate) fn words(&self) -> Result<(PathBuf, Vec<OsString>), String> {
        let program = std::env::current_exe()
            .map_err(|error| format!("cannot find our own program: {error}"))?;
        let mut words: Vec<OsString> =
            ["needless-lab", crate::subject::COMMAND, self.function, &self.calls.to_string()]
                .map(OsString::from)
                .into();
        words.extend(self.etc_localtime.map(OsString::from));
        Ok((program, words))
    }

    /// Its environment: ours without the variables that change the results, and those it is measured with.
    pub(crate) fn environment(&self) -> Vec<(OsString, OsString)> {
        const OURS: [&str; 3] = ["TZ", "TZDIR", "LD_PRELOAD"];
        let kept = |(name, _): &(OsString, OsString)| {
            !OURS.iter().any(|ours| name == ours)
                && !name.as_encoded_bytes().starts_with(b"NEEDLESS_")
        };
        let mut all: Vec<_> = std::env::vars_os().filter(kept).collect();
        all.extend(self.tz.map(|tz| ("TZ".into(), tz.into())));
        all.extend(self.preloaded.map(|library| ("LD_PRELOAD".into(), library.into())));
        all
    }

    /// Runs it.
    ///
    /// # Errors
    /// Why it cannot be measured, in words for "skipped: …".
    pub(crate) fn measure(&self) -> Result<Measured, String> {
        let (program, words) = self.words()?;
        let done = Command::new(&program)
            .args(&words[1..])
            .env_clear()
            .envs(self.environment())
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("cannot run {}: {error}", program.display()))?;
        if !done.status.success() {
            let said = String::from_utf8_lossy(&done.stderr);
            let said = said.trim().trim_start_matches("needless-lab: ");
            return Err(if said.is_empty() { done.status.to_string() } else { said.to_owned() });
        }
        let (measured, preloaded) = parse(&String::from_utf8_lossy(&done.stdout))
            .ok_or("our own program printed no figures")?;
        match (self.preloaded, preloaded) {
            (Some(library), false) => Err(format!("{} was not loaded", library.display())),
            _ => Ok(measured),
        }
    }
}

/// What [`subject`](crate::subject::subject) printed, and whether the library was loaded.
fn parse(line: &str) -> Option<(Measured, bool)> {
    let mut words = line.trim().splitn(5, ' ');
    let mut number = || words.next()?.parse().ok();
    let spent = Spent { real: number()?, user: number()?, sys: number()?, ..Spent::default() };
    let preloaded = words.next()? == "true";
    Some((Measured { spent, library: words.next()?.to_owned() }, preloaded))
}

/// The one that took the least CPU time.
pub(crate) fn least(of: Vec<Measured>) -> Option<Measured> {
    of.into_iter().min_by_key(|one| one.spent.cpu())
}

/// A sentence, if programs that wait for nothing took longer than their CPU time: then other programs used the
/// processor.
pub(crate) fn busy<'a>(all: impl Iterator<Item = &'a Spent>) -> Option<String> {
    let mut sum = Spent::default();
    all.for_each(|one| sum.add(one));
    let ratio = sum.real as f64 / sum.cpu().max(1) as f64;
    (ratio > 1.25).then(|| {
        format!(
            "This machine was busy: the measured programs waited for a processor, and their clock time is {ratio:.1} times their \
             CPU time. CPU times, too, are higher than on an idle machine; compare them only with each other."
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_subjects() {
        let (measured, preloaded) = parse("30 10 20 true glibc 2.36\n").unwrap();
        assert_eq!((measured.spent.real, measured.spent.cpu(), preloaded), (30, 30, true));
        assert_eq!(measured.library, "glibc 2.36");
        for wrong in ["", "1 2 x true glibc", "1 2 3", "1 2 3 true"] {
            assert!(parse(wrong).is_none(), "{wrong}");
        }
    }
}
