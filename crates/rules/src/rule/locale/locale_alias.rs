//! ## What it finds
//!
//! A locale asked for by an alias (`LANG=greek`) that stands for a name under which the locale is
//! not installed, so that each program start tries to open many files that do not exist.
//!
//! ## Why it happens
//!
//! `/usr/share/locale/locale.alias` turns `greek` into `el_GR.ISO-8859-7`. The locale is installed
//! as `el_GR`; glibc tries `el_GR.ISO-8859-7` and `el_GR.iso88597` first, for each of twelve
//! categories.
//!
//! ## Example
//!
//! ```trace
//! env LANG=greek
//! locales greek greek=25/89/ISO-8859-7 el_GR=1/60/ISO-8859-7 el_GR.utf8=1/62/UTF-8
//! execve("/usr/bin/ls", ["ls"], 0x7ffd5e8b9d58 /* 9 vars */) = 0
//! openat(AT_FDCWD, "/usr/lib/locale/locale-archive", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/share/locale/locale.alias", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/lib/locale/el_GR.ISO-8859-7/LC_IDENTIFICATION", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/lib/locale/el_GR.iso88597/LC_IDENTIFICATION", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/lib/locale/el_GR/LC_IDENTIFICATION", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/lib/locale/el_GR.ISO-8859-7/LC_TIME", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/lib/locale/el_GR.iso88597/LC_TIME", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/lib/locale/el_GR/LC_TIME", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/lib/locale/el_GR.ISO-8859-7/LC_CTYPE", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/lib/locale/el_GR.iso88597/LC_CTYPE", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/lib/locale/el_GR/LC_CTYPE", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! locale-alias: 6 of 9
//! stage explained
//! set LANG=el_GR
//! ```
//!
//! ## Not a finding
//!
//! An alias that the locale archive resolves: one read of the list, and no search for files.
//!
//! ```trace
//! env LANG=greek
//! execve("/usr/bin/ls", ["ls"], 0x7ffd5e8b9d58 /* 9 vars */) = 0
//! openat(AT_FDCWD, "/usr/lib/locale/locale-archive", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/locale/locale.alias", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Set the variable to the name under which the locale is installed, with the same encoding: the
//! same locale is loaded. Do not set it to the UTF-8 variant: that changes the bytes that the
//! program reads and writes.
//!
//! ## References
//!
//! * `man 5 locale`, `/usr/share/locale/locale.alias`
//! * glibc, `intl/localealias.c`, `locale/findlocale.c`

use crate::mechanism::locale::{self, Cause};
use crate::mechanism::locale_advice::{LocaleGroup, groups};
use crate::{Rule, Sink, View};
use needless_model::{Fact, Finding, Stage};

pub(crate) const RULE: Rule = Rule {
    name: "locale-alias",
    summary: "A locale is requested by an alias: failed opens at each program start",
    needs: &[Fact::Paths, Fact::Outcomes, Fact::Environment],
    variables: locale::VARIABLES,
    ..Rule::PLAIN
};

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let late = groups(view, |s, cause| s.found_late() && matches!(cause, Cause::Alias(..)));
    for group in late {
        sink.find(finding(view, group));
    }
}

fn finding(view: &View<'_>, group: LocaleGroup<'_>) -> Finding {
    let (request, installed) = (group.request(), group.installed());
    let (name, figures) = group.better(view);
    Finding {
        stage: Stage::Explained,
        what: format!(
            "{}: {request} means {}, installed as {installed}",
            group.per_start(),
            group.first
        ),
        why: format!(
            "{} is an alias for {}. glibc tries that name and its normalised spelling in each \
             category before it comes to the installed {installed}.",
            group.value(),
            group.first
        ),
        remedies: vec![group.set(Some(&name), &caveat(&figures))],
        ..group.merged.finding(RULE.name)
    }
}

/// The caveat of using the name that the alias stands for, with the `figures` measured here.
pub(crate) fn caveat(figures: &str) -> String {
    format!(
        "The same locale is loaded, with the same encoding. Programs that show the variable's text \
         show the new one.{figures}"
    )
}
