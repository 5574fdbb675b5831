//! ## What it finds
//!
//! A locale that is installed under another spelling than the one asked for. For each of twelve
//! categories, each program start tries to open a file that does not exist, before it finds the
//! right one.
//!
//! ## Why it happens
//!
//! The directory of a locale has the normalised name (`C.utf8`); people write the usual one
//! (`C.UTF-8`). glibc tries the name as written first, category by category. In a locale archive
//! any spelling is found without opening a file. But `C.utf8` is a directory on nearly every system
//! (Debian 11 called it `C.UTF-8`), and so are all locales where no archive is built: with Fedora's
//! language packs, on NixOS, in many images.
//!
//! ## Example
//!
//! ```trace
//! env LANG=C.UTF-8
//! repeat 20
//! locales C.UTF-8 C.UTF-8=13/77/UTF-8 C.utf8=1/65/UTF-8 C=0/9/ANSI_X3.4-1968
//! execve("/usr/bin/ls", ["ls"], 0x7ffd5e8b9d58 /* 9 vars */) = 0
//! openat(AT_FDCWD, "/usr/lib/locale/locale-archive", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/share/locale/locale.alias", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/lib/locale/C.UTF-8/LC_IDENTIFICATION", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/lib/locale/C.utf8/LC_IDENTIFICATION", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/lib/locale/C.UTF-8/LC_MEASUREMENT", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/lib/locale/C.utf8/LC_MEASUREMENT", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/lib/locale/C.UTF-8/LC_TELEPHONE", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/lib/locale/C.utf8/LC_TELEPHONE", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/lib/locale/C.UTF-8/LC_ADDRESS", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/lib/locale/C.utf8/LC_ADDRESS", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/lib/locale/C.UTF-8/LC_NAME", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/lib/locale/C.utf8/LC_NAME", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/lib/locale/C.UTF-8/LC_CTYPE", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/lib/locale/C.utf8/LC_CTYPE", O_RDONLY|O_CLOEXEC) = 3
//! end
//! ```
//! ```finding
//! locale-spelling: 120 of 240
//! stage explained
//! set LANG=C.utf8
//! ```
//!
//! ## Not a finding
//!
//! The name under which it is installed:
//!
//! ```trace
//! env LANG=C.utf8
//! execve("/usr/bin/ls", ["ls"], 0x7ffd5e8b9d58 /* 9 vars */) = 0
//! openat(AT_FDCWD, "/usr/lib/locale/locale-archive", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/share/locale/locale.alias", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/lib/locale/C.utf8/LC_IDENTIFICATION", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/lib/locale/C.utf8/LC_CTYPE", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Write the name as `locale -a` prints it (`C.utf8`). The same locale is loaded; only the
//! variable's text differs. Do not do this if a program searches that text for "UTF-8", or if ssh
//! passes it on to a host that knows only the other spelling. In that case a link
//! `/usr/lib/locale/C.UTF-8` to `C.utf8` helps as well, without a change of the variable: `needless
//! fix --locale C.UTF-8` makes it.
//!
//! ## References
//!
//! * `man 7 locale`, `man 1 locale`, `man 1 localedef`
//! * glibc, `locale/findlocale.c`, `intl/l10nflist.c`
//! * <https://sourceware.org/bugzilla/show_bug.cgi?id=17318>: how C.UTF-8 came to glibc

use crate::locale::{self, Cause};
use crate::locale_advice::{LocaleGroup, groups, unset_locpath};
use crate::select::Threshold;
use crate::{Rule, Sink, View};
use needless_model::{Change, Env, Finding, Remedy, Safety, Stage};

pub(crate) const RULE: Rule = Rule {
    name: "locale-spelling",
    summary: "A locale is installed under another spelling: failed opens at each program start",
    variables: locale::VARIABLES,
    page: include_str!("locale_spelling.rs"),
    check,
    ..Rule::PLAIN
};

fn check(view: &View<'_>, sink: &mut Sink) {
    let late = groups(view, |s, cause| s.found_late() && !matches!(cause, Cause::Alias(..)));
    for group in late {
        // Debian and most images set C.UTF-8, which costs a few failed opens at each start. Nobody
        // has to set LOCPATH.
        let ordinary = group.elsewhere.is_none() && locale::is_english(group.first);
        let threshold = if ordinary { Threshold::Hundreds } else { Threshold::Usual };
        sink.find_beyond(threshold, finding(view, group));
    }
}

fn finding(view: &View<'_>, group: LocaleGroup<'_>) -> Finding {
    let installed = group.installed();
    let (request, per_start) = (group.request(), group.per_start());
    let not_seen = match group.cause {
        Cause::Unknown => " The name may also be what an alias stands for.",
        _ => "",
    };
    let what = match group.elsewhere {
        Some(directory) => format!("{per_start}: {request} is searched for in {directory} first"),
        None => format!("{per_start}: {request} is installed as {installed}"),
    };
    let mut why = format!(
        "glibc tries {} in each category before it comes to the installed {installed}.{not_seen}",
        group.first
    );
    if let Some(directory) = by_locpath(view, &group) {
        why += &format!(
            " LOCPATH makes it search {directory} before the system's locales, and never look into \
             the locale archive."
        );
    }
    Finding {
        stage: match group.cause {
            Cause::Variable(..) => Stage::Explained,
            _ => Stage::Seen,
        },
        what,
        why,
        remedies: remedies(view, &group),
        ..group.merged.finding(RULE.name)
    }
}

/// The directory that lacks the locale, if LOCPATH names it or may name it.
fn by_locpath<'p>(view: &View<'_>, group: &LocaleGroup<'p>) -> Option<&'p str> {
    let directory = group.elsewhere?;
    let process = view.process(group.merged.processes[0]);
    let named = || locale::locpath(process)?.split(':').find(|part| *part == directory);
    (process.env == Env::Unknown || named().is_some()).then_some(directory)
}

/// The caveat of another spelling, with the `figures` measured here.
pub(crate) fn caveat(figures: &str) -> String {
    format!(
        "The same locale is loaded. Only the variable's text changes: some programs look for \
         \"UTF-8\" in it, and ssh passes it on to other hosts.{figures}"
    )
}

/// Ends the search in `directory`, which LOCPATH names.
pub(crate) fn without_locpath(directory: &str) -> Remedy {
    unset_locpath(&format!(
        "Right if no locale should come from {directory}; the locale that was found came from elsewhere."
    ))
}

fn remedies(view: &View<'_>, group: &LocaleGroup<'_>) -> Vec<Remedy> {
    let mut remedies = Vec::new();
    if let Some(directory) = by_locpath(view, group) {
        remedies.push(without_locpath(directory));
    }
    let (name, figures) = group.better(view);
    if name != group.value() {
        remedies.push(group.set(Some(&name), &caveat(&figures)));
    }
    remedies.push(Remedy {
        change: Change::Manual(format!(
            "In an image of your own: make a link named {} to {} beside it, or put the \
             locales into an archive (localedef without --no-archive)",
            group.first,
            group.installed()
        )),
        safety: Safety::Manual("Changes files of the system, and no variable.".to_owned()),
    });
    remedies
}
