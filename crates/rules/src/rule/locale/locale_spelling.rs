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
//! openat(AT_FDCWD, "/usr/share/locale/C.UTF-8/LC_MESSAGES/coreutils.mo", O_RDONLY) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/share/locale/C.utf8/LC_MESSAGES/coreutils.mo", O_RDONLY) = -1 ENOENT (No such file or directory)
//! end
//! ```
//! ```finding
//! locale-spelling: 120 of 240
//! besides 20
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

use crate::engine::Threshold;
use crate::engine::helpers::{absent, beside};
use crate::mechanism::locale::{self, Cause, Name};
use crate::mechanism::locale_advice::{LocaleGroup, find_by_locpath, groups};
use crate::rule::locale::catalogue_search::catalogue;
use crate::{Rule, Sink, View};
use needless_model::{Change, Finding, Query, Remedy, Safety, Stage};

pub(crate) const RULE: Rule = Rule {
    name: "locale-spelling",
    summary: "A locale is installed under another spelling: failed opens at each program start",
    variables: locale::VARIABLES,
    ..Rule::PLAIN
};

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let late = groups(view, |s, cause| s.found_late() && !matches!(cause, Cause::Alias(..)));
    for group in late {
        // Debian and most images set C.UTF-8, which costs a few failed opens at each start.
        let ordinary = locale::is_english(group.first);
        let threshold = if ordinary { Threshold::Hundreds } else { Threshold::Usual };
        let texts = catalogues(view, &group);
        texts.iter().for_each(|(row, calls)| sink.claim(*row, *calls));
        let besides = texts.iter().map(|(_, calls)| *calls as i64).sum();
        sink.find_beyond(threshold, beside(finding(view, group), besides));
    }
    find_by_locpath(view, sink, RULE.name, |search| search.found.is_some(), without_locpath);
}

/// Failed opens of message catalogues under the encoding as it is written, which gettext tries besides the normalised
/// one.
fn catalogues(view: &View<'_>, group: &LocaleGroup<'_>) -> Vec<(usize, u64)> {
    let codeset = |name| Name::parse(name).codeset;
    let (new, _) = group.better(view);
    let written = codeset(group.first).filter(|written| codeset(&new) != Some(written));
    if written.is_none() || !matches!(group.cause, Cause::Variable(..)) {
        return Vec::new();
    }
    let rows = group.merged.processes.iter().flat_map(|id| view.rows_of(*id));
    let missed = rows.filter(|(_, row)| row.query == Query::Open && absent(row));
    let named = |row| catalogue(view.profile.path(row)).and_then(|texts| codeset(texts.name));
    missed.filter(|(_, row)| named(row) == written).map(|(at, row)| (at, row.count)).collect()
}

fn finding(view: &View<'_>, group: LocaleGroup<'_>) -> Finding {
    let installed = group.installed();
    let (request, per_start) = (group.request(), group.per_start());
    let not_seen = match group.cause {
        Cause::Unknown => " The name may also be what an alias stands for.",
        _ => "",
    };
    Finding {
        stage: match group.cause {
            Cause::Variable(..) => Stage::Explained,
            _ => Stage::Seen,
        },
        what: format!("{per_start}: {request} is installed as {installed}"),
        why: format!(
            "glibc tries {} in each category before it comes to the installed {installed}.{not_seen}",
            group.first
        ),
        remedies: remedies(view, &group),
        ..group.merged.finding(RULE.name)
    }
}

/// The caveat of another spelling, with the `figures` measured here.
pub(crate) fn caveat(figures: &str) -> String {
    format!(
        "The same locale is loaded. Only the variable's text changes: some programs look for \
         \"UTF-8\" in it, and ssh passes it on to other hosts.{figures}"
    )
}

/// The caveat of unsetting LOCPATH, which names `directory`.
pub(crate) fn without_locpath(directory: &str) -> String {
    format!(
        "Right if no locale should come from {directory}; the locale that was found came from elsewhere."
    )
}

fn remedies(view: &View<'_>, group: &LocaleGroup<'_>) -> Vec<Remedy> {
    let mut remedies = Vec::new();
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
