//! ## What it finds
//!
//! The environment, or a program, asks for a locale that is not installed. Each program start
//! searches for it under all its spellings, finds nothing, and goes on in the C locale.
//!
//! ## Why it happens
//!
//! A `Dockerfile` sets `LC_ALL=en_US.UTF-8`, ssh passes on the variables of another machine, or the
//! locale was never generated. `setlocale()` opens the locale archive and up to six names
//! (`en_US.UTF-8`, `en_US.utf8`, `en_US`, `en.UTF-8`, `en.utf8`, `en`), fails at the first
//! category, and the program runs in C. On Debian 12 that is 7 failed opens; 37 in bash, which
//! tries again for each category with LC_ALL, and 13 in Perl with LANG.
//!
//! ## Example
//!
//! ```trace
//! env LANG=en_US.UTF-8 LC_ALL=en_US.UTF-8
//! locales en_US.UTF-8 en_US.UTF-8=7/79/- C.utf8=1/129/UTF-8 C=0/71/ANSI_X3.4-1968
//! execve("/usr/bin/ls", ["ls"], 0x7ffd5e8b9d58 /* 9 vars */) = 0
//! openat(AT_FDCWD, "/usr/lib/locale/locale-archive", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/share/locale/locale.alias", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/lib/locale/en_US.UTF-8/LC_IDENTIFICATION", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/lib/locale/en_US.utf8/LC_IDENTIFICATION", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/lib/locale/en_US/LC_IDENTIFICATION", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/lib/locale/en.UTF-8/LC_IDENTIFICATION", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/lib/locale/en.utf8/LC_IDENTIFICATION", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/lib/locale/en/LC_IDENTIFICATION", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! ```
//! ```finding
//! locale-not-installed: 7 of 7
//! besides 5
//! stage explained
//! set LC_ALL=C
//! ```
//!
//! Perl warns of it in seven lines or more, bash in one if LC_ALL is set. That goes, too:
//!
//! ```trace
//! env LANG=xx_YY.UTF-8
//! execve("/usr/bin/perl", ["perl"], 0x7ffd5e8b9d58 /* 9 vars */) = 0
//! openat(AT_FDCWD, "/usr/lib/locale/locale-archive", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/share/locale/locale.alias", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/lib/locale/xx_YY.UTF-8/LC_CTYPE", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory) x6
//! write(2, "perl: warning: Setting locale failed.\n", 38) = 38 x7
//! write(1, "hello\n", 6) = 6 x3
//! ```
//! ```finding
//! locale-not-installed: 7 of 7
//! besides 12
//! stage explained
//! set LANG
//! ```
//!
//! ## Not a finding
//!
//! The locale is installed under the name that is asked for. (The check of the archive is needed,
//! too.)
//!
//! ```trace
//! env LANG=C.utf8
//! execve("/usr/bin/ls", ["ls"], 0x7ffd5e8b9d58 /* 9 vars */) = 0
//! openat(AT_FDCWD, "/usr/lib/locale/locale-archive", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory) x20
//! openat(AT_FDCWD, "/usr/share/locale/locale.alias", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/lib/locale/C.utf8/LC_CTYPE", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! There are three ways. For the encoding, set `C.utf8`, which most systems have: the program then
//! loads a locale, which takes *more* calls in all than the failed search. For the language,
//! install the locale (`needless fix --locale en_US.UTF-8`, or `localedef -i en_US -f UTF-8
//! en_US.UTF-8`). For the fewest calls, set `C`, in which the program runs now anyway. If another
//! variable also asks for a locale (`LC_TIME=de_DE.UTF-8` beside `LANG=C.UTF-8`), nothing is saved:
//! the program then loads that one.
//!
//! ## References
//!
//! * `man 3 setlocale`, `man 1 localedef`, `man 8 locale-gen`
//! * glibc, `locale/setlocale.c`, `locale/findlocale.c`

use crate::engine::Threshold;
use crate::engine::helpers;
use crate::mechanism::locale::{self, Cause, Name};
use crate::mechanism::locale_advice::{
    self as advice, LocaleGroup, encoding, find_by_locpath, groups,
};
use crate::{Rule, Sink, View};
use needless_model::{Change, Finding, ProcId, Remedy, Stage};

pub(crate) const RULE: Rule = Rule {
    name: "locale-not-installed",
    summary: "A requested locale is not installed: a failed search at each program start",
    variables: locale::VARIABLES,
    ..Rule::PLAIN
};

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    for group in groups(view, |search, _| search.found.is_none()) {
        // A program that asks for a locale by itself, as tmux does to have UTF-8, does so at each
        // start. If the environment is not known, English may be such a request.
        let threshold = match group.cause {
            Cause::Program => Threshold::Hundreds,
            Cause::Unknown if locale::is_english(group.first) => Threshold::Hundreds,
            _ => Threshold::Usual,
        };
        sink.find_beyond(threshold, finding(view, group));
    }
    let caveat = |_: &str| WITHOUT_LOCPATH.to_owned();
    find_by_locpath(view, sink, RULE.name, |search| search.found.is_none(), caveat);
}

fn finding(view: &View<'_>, group: LocaleGroup<'_>) -> Finding {
    let request = group.request();
    let alias = match group.cause {
        Cause::Alias(_, value) => format!(" {value} is an alias for {}.", group.first),
        _ => String::new(),
    };
    let locpath = match locale::locpath(view.process(group.merged.processes[0])) {
        Some(path) => format!(" LOCPATH={path} keeps it from looking into the locale archive."),
        None => String::new(),
    };
    let encoding = if locale::is_encoding(group.first) {
        format!(
            " {} is an encoding and not the name of a locale: ssh from macOS passes it on like \
             this, for example (SendEnv LC_*).",
            group.first
        )
    } else {
        String::new()
    };
    let instead = match besides(view, &group) {
        // Another locale is loaded instead, with no fewer calls.
        Some(_) => -(group.merged.needless as i64),
        None => match variable(&group) {
            Some(variable) => {
                let processes = &group.merged.processes;
                advice::alias_reads(view, processes) + warnings(view, processes, variable)
            }
            None => 0,
        },
    };
    Finding {
        besides: instead,
        stage: match group.cause {
            Cause::Variable(..) | Cause::Alias(..) => Stage::Explained,
            _ => Stage::Seen,
        },
        what: format!("{}: {request} is not installed", group.per_start()),
        why: format!(
            "setlocale() searches for {} under all its spellings, finds nothing, and the program \
             goes on in the C locale.{alias}{locpath}{encoding}",
            group.first
        ),
        remedies: remedies(view, &group),
        ..group.merged.finding(RULE.name)
    }
}

/// The caveat of C instead.
pub(crate) const FEWEST: &str = "This takes the fewest calls. The program already runs in C, \
                                 because its locale is not installed; but programs that read the \
                                 variable's text, not the locale, then stop using UTF-8.";

/// The caveat of a search without LOCPATH.
pub(crate) const WITHOUT_LOCPATH: &str = "The locale may well be in the archive, where glibc does not look while LOCPATH is \
                                          set. Locales that exist only in LOCPATH are then no longer found.";

/// An installed locale with the encoding that was asked for.
pub(crate) struct Encoded {
    pub(crate) name: String,
    pub(crate) caveat: String,
    /// Whether loading it takes more calls than the search for the missing one.
    pub(crate) costs_more: bool,
}

/// The installed locale with the encoding that `wanted`, which `value` asks for, was meant to give.
pub(crate) fn encoded(view: &View<'_>, value: &str, wanted: &str) -> Option<Encoded> {
    let probe = advice::probe(view, value)?;
    let now = advice::measured(probe, value)?;
    let best = advice::best(probe, encoding(wanted))?;
    let caveat = format!(
        "Gives the encoding {}, which {wanted} was meant to give; language and formats stay those \
         of {}. {}",
        best.charmap,
        best.name,
        advice::figures(best, now)
    );
    let costs_more = best.total_calls > now.total_calls;
    Some(Encoded { name: best.name.clone(), caveat, costs_more })
}

fn remedies(view: &View<'_>, group: &LocaleGroup<'_>) -> Vec<Remedy> {
    let mut remedies = Vec::new();
    let other = besides(view, group);
    if variable(group).is_none_or(locale::has_encoding) {
        remedies.push(for_encoding(view, group, other.is_some()));
    }
    remedies.extend(install(group.first));
    remedies.push(match (variable(group), other) {
        (Some(variable), Some((name, value))) => helpers::by_hand(
            &format!("{variable}=C, to have the locale of {name}={value}"),
            &format!(
                "The program's setlocale() then succeeds, where that locale is installed, and loads it: \
                 calls do not fall, but the program gets the language and the encoding of {name}."
            ),
        ),
        _ => group.set(Some("C"), FEWEST),
    });
    // First what saves calls: a locale that is loaded only for its encoding takes more.
    let sets = |remedy: &Remedy| matches!(remedy.change, Change::SetEnv { .. });
    if !sets(&remedies[0]) && remedies.last().is_some_and(sets) {
        remedies.rotate_right(1);
    }
    remedies
}

/// Calls with which these processes warn that there is no such locale: Perl has a line for each variable and five more
/// (perldoc perllocale), bash asks about standard error and writes one, for LC_ALL only.
fn warnings(view: &View<'_>, processes: &[ProcId], variable: &str) -> i64 {
    let of = |id: &ProcId| {
        let process = view.process(*id);
        let category = |name: &&&str| name.starts_with("LC_") && **name != "LC_ALL";
        let is_set = |name: &&&str| process.env.value(name).is_some();
        let (lines, each) = match process.name() {
            name if name.starts_with("perl") => {
                (7 + locale::VARIABLES.iter().filter(category).filter(is_set).count(), 1)
            }
            "bash" if variable == "LC_ALL" => (1, 2),
            _ => (0, 1),
        };
        // PERL_BADLANG=0 turns it off.
        let writes = view.rows_of(*id).filter(|(_, row)| view.profile.call(row) == "write");
        let writes: u64 = writes.map(|(_, row)| row.count).sum();
        each * writes.min(lines as u64) as i64
    };
    processes.iter().map(of).sum()
}

/// The variable that causes the search, if it is known.
fn variable(group: &LocaleGroup<'_>) -> Option<&'static str> {
    match group.cause {
        Cause::Variable(variable, _) | Cause::Alias(variable, _) => Some(variable),
        Cause::Program | Cause::Unknown => None,
    }
}

/// Another variable that asks for a locale, too, in one of the processes.
fn besides<'p>(view: &View<'p>, group: &LocaleGroup<'_>) -> Option<(&'static str, &'p str)> {
    let variable = variable(group)?;
    group.merged.processes.iter().find_map(|id| locale::besides(view.process(*id), variable))
}

fn for_encoding(view: &View<'_>, group: &LocaleGroup<'_>, by_hand: bool) -> Remedy {
    match encoded(view, group.value(), group.first) {
        Some(found) => match group.set(Some(&found.name), &found.caveat) {
            // It saves nothing: it is for users who want the encoding.
            Remedy { change: Change::SetEnv { variable, value: Some(value) }, .. }
                if found.costs_more || by_hand =>
            {
                helpers::by_hand(&format!("{variable}={value}, for its encoding"), &found.caveat)
            }
            other => other,
        },
        None => group.set(
            None,
            "The value is one that `locale -a` lists where the program runs, such as C.utf8 for the \
             encoding UTF-8. Loading a locale takes more calls than the failed search for one.",
        ),
    }
}

/// `None` if it cannot be the name of a locale's source.
fn install(wanted: &str) -> Option<Remedy> {
    let name = Name::parse(wanted);
    if !name.may_have_source() {
        return None;
    }
    let (source, charmap) = match wanted.split_once('.') {
        Some((source, charmap)) => (source, charmap),
        None => (wanted, "UTF-8"),
    };
    let then = "The program then runs in that locale: messages, sorting and formats change from C.";
    Some(if name.has_territory() {
        helpers::by_hand(
            &format!(
                "Install the locale where the program runs: needless fix --locale {wanted} (or localedef -i {source} -f {charmap} {wanted})"
            ),
            then,
        )
    } else {
        helpers::by_hand(
            &format!(
                "Install a locale of the language {source} where the program runs: /usr/share/i18n/locales lists what there is; most names have a territory, as de_DE has"
            ),
            then,
        )
    })
}
