//! The notation of examples in rule pages, in rules of users and in tests: what strace prints, so that a bug report can
//! be pasted in, and lines for facts that strace does not show.
//!
//! ```text
//! stat("/etc/localtime", {…}) = 0 x9      nine such lines
//! each 3 1023 close(%) = 0                such lines with 3 to 1023 in place of %
//! repeat 500 … end                        the lines between, 500 times
//! site main+0xc3: call localtime@plt      where the call of the line before is made
//! env TZ=Europe/Athens LANG=C             environment of all processes known: these are set
//! env -TZ                                 known: unset (like every variable not named)
//! libc glibc 2.36 | musl | static         C library of all processes
//! runtime java | node | go                language runtime of all processes
//! secure                                  all processes are set-user-ID
//! machine x86_64                          uname -m
//! zone link Europe/Athens                 /etc/localtime is a link, and this is its name
//! zone file Europe/Athens | file -        a regular file with this name, or with none
//! zone missing | broken                   it does not exist | it is empty or a directory
//! zonefile PATH yes | no                  whether a file that TZ names is a zone
//! locales WANTED NAME=FAILED/TOTAL/CHARMAP … NAME=FAILED/TOTAL/-
//!                                         cost of spellings on the host; `-`: not accepted
//! clocksource tsc                         the kernel's source of time
//! bytecode yes | no                       whether processes may write what Python compiled
//! cpu 3s                                  CPU time in user mode
//! costs 1000                              a stat, failed open, open costs this many ns
//! facts +clock -answers                   facts to add to the log or to remove from it
//! ```

use crate::{LogError, ReadOptions};
use needless_model::{
    CallSite, Costs, Env, Fact, Libc, ListsInEnvironments, LocaleProbe, Loss, ProcId, Profile,
    Runtime, Spelling, SystemZone, WatchList, ZoneFile, quote,
};
use std::collections::BTreeMap;

/// `repeat` and `x1000` may not make an example longer than this, in lines.
const MOST_LINES: usize = 1_000_000;

/// The profile of an example. `watch`: the variables that `strace -v` lines may give it.
///
/// # Errors
/// [`LogError::Example`] when a line is not understood: which, in one line.
pub fn example(text: &str, watch: &WatchList) -> Result<Profile, LogError> {
    profile_of(text, watch).map_err(|why| LogError::Example { why })
}

fn profile_of(text: &str, watch: &WatchList) -> Result<Profile, String> {
    let (log, directives) = expand(text)?;
    let options = ReadOptions { watch: watch.clone(), ..ReadOptions::default() };
    let mut profile = crate::read(log.as_bytes(), "example", &options)
        .map_err(|e| format!("the example cannot be read: {e}"))?;
    if profile.lost.get(&Loss::Unparsed).is_some_and(|lines| *lines > 0) {
        let why = profile.notes.join("; ");
        return Err(format!("strace does not print a line like one of the example: {why}"));
    }
    // A log of a few lines looks filtered; examples leave out only calls that do not matter.
    profile.facts = profile.facts.with(Fact::Details).with(Fact::Outcomes);
    for (directive, line_before) in directives {
        apply(&mut profile, &directive, &line_before).ok_or_else(|| {
            format!("{} is not understood in an example", quote(directive.trim()))
        })?;
    }
    Ok(profile)
}

/// The strace text, and the other lines, each with the strace line before it.
fn expand(example: &str) -> Result<(String, Vec<(String, String)>), String> {
    let (mut log, mut directives) = (String::new(), Vec::new());
    let mut line_before = String::new();
    let mut repeat: Option<(usize, String)> = None;
    let mut lines = 0usize;
    let mut room = |more: usize| {
        lines = lines.saturating_add(more);
        if lines <= MOST_LINES {
            Ok(())
        } else {
            Err(format!("the example has more than {MOST_LINES} lines"))
        }
    };
    for line in example.lines().filter(|line| !line.trim().is_empty()) {
        let word = line.split_whitespace().next().unwrap_or("");
        match word {
            "repeat" => {
                let times = line["repeat".len()..].trim().parse();
                let times =
                    times.map_err(|_| format!("{}: `repeat` wants a number", quote(line)))?;
                repeat = Some((times, String::new()));
            }
            "end" => {
                let (times, block) = repeat.take().ok_or("`end` without `repeat`")?;
                room(times.saturating_mul(block.lines().count()))?;
                log.push_str(&block.repeat(times));
            }
            "each" => {
                let (from, to, text) = numbers(line).ok_or_else(|| {
                    format!("{}: `each` wants two numbers and a line", quote(line))
                })?;
                room(to.saturating_sub(from).saturating_add(1))?;
                (from..=to).for_each(|n| {
                    log.push_str(&format!("{}\n", text.replace('%', &n.to_string())))
                });
            }
            "site" | "env" | "libc" | "runtime" | "secure" | "machine" | "zone" | "zonefile"
            | "locales" | "clocksource" | "bytecode" | "cpu" | "costs" | "facts" => {
                directives.push((line.to_owned(), line_before.clone()))
            }
            _ => {
                let (text, times) = count_of(line);
                room(times)?;
                line_before = text.to_owned();
                let to = repeat.as_mut().map_or(&mut log, |(_, block)| block);
                to.push_str(&format!("{text}\n").repeat(times));
            }
        }
    }
    match repeat {
        None => Ok((log, directives)),
        Some(_) => Err("`repeat` without `end`".to_owned()),
    }
}

/// The numbers and the line of `each 3 1023 close(%) = 0`.
fn numbers(line: &str) -> Option<(usize, usize, &str)> {
    let (from, rest) = line.trim().strip_prefix("each")?.trim_start().split_once(' ')?;
    let (to, text) = rest.trim_start().split_once(' ')?;
    Some((from.parse().ok()?, to.parse().ok()?, text))
}

fn count_of(line: &str) -> (&str, usize) {
    if let Some((text, times)) = line.rsplit_once(" x")
        && let Ok(times) = times.parse()
    {
        return (text, times);
    }
    (line, 1)
}

/// `None`: the directive is not understood.
fn apply(profile: &mut Profile, directive: &str, line_before: &str) -> Option<()> {
    let mut words = directive.split_whitespace();
    let kind = words.next()?;
    let words: Vec<&str> = words.collect();
    match kind {
        "site" => site(profile, directive.trim_start().strip_prefix("site")?.trim(), line_before)?,
        "env" => environment(profile, &words),
        "libc" => {
            let libc = match words[..] {
                ["glibc", version] => Libc::Glibc(Some(version.to_owned())),
                ["musl"] => Libc::Musl,
                ["static"] => Libc::Static,
                _ => return None,
            };
            profile.processes.iter_mut().for_each(|p| p.libc = libc.clone());
        }
        "runtime" => {
            let runtime = match words[..] {
                ["java"] => Runtime::Java,
                ["node"] => Runtime::Node,
                ["go"] => Runtime::Go,
                _ => return None,
            };
            profile.processes.iter_mut().for_each(|p| p.runtime = runtime);
        }
        "secure" => profile.processes.iter_mut().for_each(|p| p.secure = Some(true)),
        "machine" => profile.host.machine = (*words.first()?).to_owned(),
        "clocksource" => profile.host.clock_source = Some((*words.first()?).to_owned()),
        "zone" => {
            profile.facts = profile.facts.with(Fact::HostZone);
            profile.host.zone = Some(zone(&words)?);
        }
        "zonefile" => {
            let [path, known @ ("yes" | "no")] = words[..] else { return None };
            profile.host.zone_files.insert(path.to_owned(), known == "yes");
        }
        "locales" => {
            profile.facts = profile.facts.with(Fact::HostLocales);
            profile.host.locales.push(locales(&words)?);
        }
        "bytecode" => {
            let [known @ ("yes" | "no")] = words[..] else { return None };
            profile.processes.iter_mut().for_each(|p| p.writes_bytecode = Some(known == "yes"));
        }
        "cpu" => {
            let seconds: u64 = words.first()?.trim_end_matches('s').parse().ok()?;
            profile.totals.cpu_user_ns = Some(seconds.checked_mul(1_000_000_000)?);
            profile.totals.cpu_sys_ns = Some(0);
        }
        "costs" => {
            let ns = words.first()?.parse().ok()?;
            profile.host.costs = Some(Costs::each(ns));
        }
        "facts" => words.iter().try_for_each(|word| fact(profile, word))?,
        _ => return None,
    }
    Some(())
}

/// Gives every process this environment: words `NAME=VALUE`.
fn environment(profile: &mut Profile, words: &[&str]) {
    let set = words.iter().filter_map(|word| word.split_once('='));
    let env: BTreeMap<String, String> =
        set.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    profile.facts = profile.facts.with(Fact::Environment);
    profile.processes.iter_mut().for_each(|p| p.env = Env::Known(env.clone()));
    let mut lists = ListsInEnvironments::default();
    for id in (0..profile.processes.len() as u32).map(ProcId) {
        lists.add(id, env.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    }
    lists.fill(profile);
}

fn fact(profile: &mut Profile, word: &str) -> Option<()> {
    let (add, name) = match word.strip_prefix('+') {
        Some(name) => (true, name),
        None => (false, word.strip_prefix('-')?),
    };
    let named = |fact: &&Fact| format!("{fact:?}").eq_ignore_ascii_case(name);
    let fact = *Fact::ALL.iter().find(named)?;
    profile.facts = if add { profile.facts.with(fact) } else { profile.facts.without(fact) };
    Some(())
}

fn zone(words: &[&str]) -> Option<SystemZone> {
    let name = |name: &str| (name != "-").then(|| name.to_owned());
    let (file, name, how) = match *words {
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
        _ => return None,
    };
    Some(SystemZone { file, name, how: how.to_owned(), tzdata: true })
}

fn locales(words: &[&str]) -> Option<LocaleProbe> {
    let spelling = |word: &&str| {
        let (name, figures) = word.split_once('=')?;
        let mut figures = figures.splitn(3, '/');
        let mut figure = || figures.next()?.parse().ok();
        let (failed_opens, total_calls) = (figure()?, figure()?);
        let charmap = figures.next()?.trim_start_matches('-').to_owned();
        let accepted = !charmap.is_empty();
        Some(Spelling { name: name.to_owned(), failed_opens, total_calls, accepted, charmap })
    };
    let (requested, spellings) = words.split_first()?;
    let spellings = spellings.iter().map(spelling).collect::<Option<_>>()?;
    Some(LocaleProbe { requested: (*requested).to_owned(), spellings })
}

/// `FUNCTION+0xOFFSET: call NAME@plt` for the rows of the call and path of `line`.
fn site(profile: &mut Profile, text: &str, line: &str) -> Option<()> {
    let (place, calls) = match text.split_once(": call ") {
        Some((place, name)) => (place, Some(name.trim_end_matches("@plt").to_owned())),
        None => (text, None),
    };
    let (function, offset) = place.split_once("+0x")?;
    let site = CallSite {
        module: "/usr/bin/app".to_owned(),
        function: Some(function.to_owned()),
        offset: u64::from_str_radix(offset, 16).ok()?,
        calls,
    };
    profile.facts = profile.facts.with(Fact::CallSites);
    let path = line.split('"').nth(1).unwrap_or("");
    let call = line.split('(').next().unwrap_or("").rsplit(' ').next().unwrap_or("");
    let Profile { strings, rows, .. } = profile;
    let is = |id: needless_model::StrId, text: &str| strings.text(id) == text;
    for row in rows {
        if is(row.call.0, call) && row.target.text().is_some_and(|id| is(id, path)) {
            row.sites.push((site.clone(), row.count));
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_is_a_log_with_what_a_log_lacks() {
        let text = "env TZ=UTC\nexecve(\"/usr/bin/a\", [\"a\"], 0x7 /* 2 vars */) = 0\n\
                    repeat 2\nstat(\"/x\", {st_mode=S_IFREG|0644, st_size=1, ...}) = 0 x3\nend\n";
        let profile = example(text, &WatchList::default()).unwrap();
        let row = profile.rows.iter().find(|row| profile.path(row) == "/x").unwrap();
        assert_eq!((row.count, row.ok()), (6, true));
        assert_eq!(profile.processes[0].env.value("TZ"), Some("UTC"));
    }

    #[test]
    fn what_is_not_understood_is_one_line() {
        for wrong in [
            "end",
            "repeat",
            "repeat 2",
            "repeat x",
            "libc",
            "libc x",
            "zone",
            "zonefile /x",
            "zonefile /x maybe",
            "bytecode maybe",
            "cpu",
            "cpu x",
            "facts paths",
            "facts +x",
            "site",
            "locales",
            "locales a b",
            "machine",
            "costs -1",
            "stat(\"/x\", 0x7) = 0 x99999999",
            "repeat 99999999999\na = 1\nend",
        ] {
            let text = format!("execve(\"/usr/bin/a\", [\"a\"], 0x7 /* 2 vars */) = 0\n{wrong}\n");
            let error = example(&text, &WatchList::default()).map(|_| ()).expect_err(wrong);
            assert!(
                !error.to_string().is_empty() && !error.to_string().contains('\n'),
                "{wrong}: {error}"
            );
        }
    }
}
