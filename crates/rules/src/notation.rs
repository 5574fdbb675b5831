//! The notation of examples in rule pages and tests: what strace prints, so that a bug report can
//! be pasted in, and lines for what strace does not say.
//!
//! ```text
//! stat("/etc/localtime", {…}) = 0 x9      nine such lines
//! repeat 500 … end                        the lines between, 500 times
//! site main+0xc3: call localtime@plt      where the call of the line before comes from
//! env TZ=Europe/Athens LANG=C             environment of all processes known: these are set
//! env -TZ                                 known: unset (like every other not named)
//! libc glibc 2.36 | musl | static         C library of all processes
//! runtime java | node | go                language runtime of all processes
//! secure                                  all processes are set-user-ID
//! machine x86_64                          uname -m
//! zone link Europe/Athens                 /etc/localtime is a link, and this is its name
//! zone file Europe/Athens | file -        a regular file with this name, or with none
//! zone missing | broken                   not there | empty or a directory
//! locales WANTED NAME=FAILED/TOTAL/CHARMAP … NAME=FAILED/TOTAL/-
//!                                         cost of spellings on the host; `-`: not accepted
//! clocksource tsc                         the kernel's source of time
//! cpu 3s                                  CPU time in user mode
//! costs 1000                              a stat, failed open, open costs this many ns
//! facts +clock -answers                   facts that the log lacks or is to lack
//! ```

use needless_model::{
    CallSite, Costs, Env, Fact, Libc, LocaleProbe, Profile, Runtime, Spelling, Zone, ZoneFile,
};
use std::collections::BTreeMap;

/// The profile of an example.
pub(crate) fn profile(example: &str) -> Profile {
    let (log, directives) = expand(example);
    let options = needless_strace_log::Options {
        watch: crate::watched_variables(),
        ..needless_strace_log::Options::default()
    };
    let mut profile = needless_strace_log::read(log.as_bytes(), "example", &options)
        .unwrap_or_else(|e| panic!("example cannot be read: {e}\n{log}"));
    let unparsed = profile.lost.get("lines_unparsed").copied().unwrap_or(0);
    assert_eq!(unparsed, 0, "lines of the example were not understood: {:?}\n{log}", profile.notes);
    // A log of a few lines looks as if calls had been left out of it; examples leave out none that
    // matter.
    profile.facts = profile.facts.with(Fact::Details);
    for (directive, line_before) in directives {
        apply(&mut profile, &directive, &line_before);
    }
    profile
}

/// The strace text, and the other lines, each with the strace line before it.
fn expand(example: &str) -> (String, Vec<(String, String)>) {
    let (mut log, mut directives) = (String::new(), Vec::new());
    let mut line_before = String::new();
    let mut repeat: Option<(usize, String)> = None;
    for line in example.lines().filter(|line| !line.trim().is_empty()) {
        let word = line.split_whitespace().next().unwrap_or("");
        match word {
            "repeat" => {
                repeat = Some((line["repeat".len()..].trim().parse().unwrap(), String::new()))
            }
            "end" => {
                let (times, block) = repeat.take().expect("`end` without `repeat`");
                log.push_str(&block.repeat(times));
            }
            "site" | "env" | "libc" | "runtime" | "secure" | "machine" | "zone" | "locales"
            | "clocksource" | "cpu" | "costs" | "facts" => {
                directives.push((line.to_owned(), line_before.clone()))
            }
            _ => {
                let (text, times) = count_of(line);
                line_before = text.to_owned();
                let to = repeat.as_mut().map_or(&mut log, |(_, block)| block);
                to.push_str(&format!("{text}\n").repeat(times));
            }
        }
    }
    assert!(repeat.is_none(), "`repeat` without `end`");
    (log, directives)
}

fn count_of(line: &str) -> (&str, usize) {
    if let Some((text, times)) = line.rsplit_once(" x")
        && let Ok(times) = times.parse()
    {
        return (text, times);
    }
    (line, 1)
}

fn apply(profile: &mut Profile, directive: &str, line_before: &str) {
    let mut words = directive.split_whitespace();
    let kind = words.next().unwrap();
    let words: Vec<&str> = words.collect();
    match kind {
        "site" => site(profile, directive["site".len()..].trim(), line_before),
        "env" => {
            let set = words.iter().filter_map(|word| word.split_once('='));
            let env: BTreeMap<String, String> =
                set.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            profile.facts = profile.facts.with(Fact::Environment);
            profile.processes.iter_mut().for_each(|p| p.env = Env::Known(env.clone()));
        }
        "libc" => {
            let libc = match words[..] {
                ["glibc", version] => Libc::Glibc(Some(version.to_owned())),
                ["musl"] => Libc::Musl,
                ["static"] => Libc::Static,
                _ => panic!("{directive}"),
            };
            profile.processes.iter_mut().for_each(|p| p.libc = libc.clone());
        }
        "runtime" => {
            let runtime = match words[..] {
                ["java"] => Runtime::Java,
                ["node"] => Runtime::Node,
                ["go"] => Runtime::Go,
                _ => panic!("{directive}"),
            };
            profile.processes.iter_mut().for_each(|p| p.runtime = runtime);
        }
        "secure" => profile.processes.iter_mut().for_each(|p| p.secure = Some(true)),
        "machine" => profile.host.machine = words[0].to_owned(),
        "clocksource" => profile.host.clock_source = Some(words[0].to_owned()),
        "zone" => {
            profile.facts = profile.facts.with(Fact::HostZone);
            profile.host.zone = Some(zone(&words));
        }
        "locales" => {
            profile.facts = profile.facts.with(Fact::HostLocales);
            profile.host.locales.push(locales(&words));
        }
        "cpu" => {
            let seconds: u64 = words[0].trim_end_matches('s').parse().unwrap();
            profile.totals.cpu_user_ns = Some(seconds * 1_000_000_000);
            profile.totals.cpu_sys_ns = Some(0);
        }
        "costs" => {
            let ns = words[0].parse().unwrap();
            let costs = Costs { stat_ns: ns, failed_open_ns: ns, open_ns: ns };
            profile.host.costs = Some(costs);
        }
        "facts" => words.iter().for_each(|word| fact(profile, word)),
        _ => unreachable!(),
    }
}

fn fact(profile: &mut Profile, word: &str) {
    let name = &word[1..];
    let fact = *Fact::ALL
        .iter()
        .find(|fact| format!("{fact:?}").eq_ignore_ascii_case(name))
        .unwrap_or_else(|| panic!("no fact {name}"));
    profile.facts = match word.starts_with('+') {
        true => profile.facts.with(fact),
        false => profile.facts.without(fact),
    };
}

fn zone(words: &[&str]) -> Zone {
    let name = |name: &str| (name != "-").then(|| name.to_owned());
    let (file, name, how) = match words[..] {
        ["link", at] => (
            ZoneFile::Link(format!("/usr/share/zoneinfo/{at}")),
            name(at),
            "/etc/localtime is a link to it",
        ),
        ["file", "-"] => (ZoneFile::Regular, None, "no zone gives these local times"),
        ["file", at] => (ZoneFile::Regular, name(at), "/etc/localtime has the same contents"),
        ["missing"] => {
            (ZoneFile::Missing, name("UTC"), "/etc/localtime is missing, so programs run in UTC")
        }
        ["broken"] => (
            ZoneFile::NotAZone("empty".to_owned()),
            name("UTC"),
            "/etc/localtime is empty, so programs run in UTC",
        ),
        _ => panic!("{words:?}"),
    };
    Zone { file, name, how: how.to_owned(), tzdata: true }
}

fn locales(words: &[&str]) -> LocaleProbe {
    let spelling = |word: &&str| {
        let (name, figures) = word.split_once('=').unwrap();
        let figures: Vec<&str> = figures.split('/').collect();
        let charmap = figures[2].trim_start_matches('-').to_owned();
        Spelling {
            name: name.to_owned(),
            failed_opens: figures[0].parse().unwrap(),
            total_calls: figures[1].parse().unwrap(),
            accepted: !charmap.is_empty(),
            charmap,
        }
    };
    LocaleProbe {
        requested: words[0].to_owned(),
        spellings: words[1..].iter().map(spelling).collect(),
    }
}

/// `FUNCTION+0xOFFSET: call NAME@plt` for the rows of the call and path of `line`.
fn site(profile: &mut Profile, text: &str, line: &str) {
    let (place, calls) = match text.split_once(": call ") {
        Some((place, name)) => (place, Some(name.trim_end_matches("@plt").to_owned())),
        None => (text, None),
    };
    let (function, offset) = place.split_once("+0x").unwrap();
    let site = CallSite {
        module: "/usr/bin/app".to_owned(),
        function: Some(function.to_owned()),
        offset: u64::from_str_radix(offset, 16).unwrap(),
        calls,
    };
    let path = line.split('"').nth(1).unwrap_or("").to_owned();
    let call = line.split('(').next().unwrap_or("").rsplit(' ').next().unwrap_or("").to_owned();
    let strings = profile.strings.clone();
    for row in &mut profile.rows {
        let is = |id: needless_model::StrId, text: &str| strings.text(id) == text;
        if is(row.call.0, &call) && row.target.text().is_some_and(|id| is(id, &path)) {
            row.sites.push((site.clone(), row.count));
        }
    }
}
