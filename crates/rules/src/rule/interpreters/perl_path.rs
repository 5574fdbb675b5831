//! ## What it finds
//!
//! Directories of PERL5LIB, or of the older PERLLIB, in which Perl looks for each module and finds
//! none.
//!
//! ## Why it happens
//!
//! Perl searches them before its own directories. At each start it looks in each for the
//! subdirectories of its version and architecture; then it looks for each module twice: for the
//! compiled form (`.pmc`) and for the module. PERLLIB is read where PERL5LIB is not set; Perl looks
//! for no subdirectories there.
//!
//! ## Example
//!
//! ```trace
//! env PERL5LIB=/opt/a/lib/perl5:/opt/b/lib/perl5
//! execve("/usr/bin/perl", ["perl"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! newfstatat(AT_FDCWD, "/opt/a/lib/perl5/5.36.0", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/a/lib/perl5/strict.pmc", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/a/lib/perl5/strict.pm", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/b/lib/perl5/5.36.0", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/b/lib/perl5/strict.pmc", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/b/lib/perl5/strict.pm", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/share/perl/5.36/strict.pm", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! perl-path: 6 of 6
//! unset PERL5LIB
//! ```
//!
//! The older variable:
//!
//! ```trace
//! env PERLLIB=/opt/a/lib/perl5:/opt/b/lib/perl5
//! execve("/usr/bin/perl", ["perl"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 2
//! newfstatat(AT_FDCWD, "/opt/a/lib/perl5/strict.pmc", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/a/lib/perl5/strict.pm", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/b/lib/perl5/strict.pmc", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/b/lib/perl5/strict.pm", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! end
//! openat(AT_FDCWD, "/usr/share/perl/5.36/strict.pm", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! perl-path: 8 of 8
//! unset PERLLIB
//! ```
//!
//! In a log without the environment:
//!
//! ```trace
//! execve("/usr/bin/pod2man", ["pod2man"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! newfstatat(AT_FDCWD, "/opt/a/lib/perl5/Pod/Man.pmc", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/a/lib/perl5/Pod/Man.pm", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/b/lib/perl5/Pod/Man.pmc", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/b/lib/perl5/Pod/Man.pm", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/c/lib/perl5/Pod/Man.pmc", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/c/lib/perl5/Pod/Man.pm", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/share/perl/5.36/Pod/Man.pm", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! perl-path: 6 of 6
//! manual
//! ```
//!
//! Perl searches a directory once for each mention. If `-I` names it as well, only half of the
//! calls are saved; the directories that are named once show how often each name is looked for:
//!
//! ```trace
//! env PERL5LIB=/opt/a
//! execve("/usr/bin/perl", ["perl", "-I/opt/a"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! newfstatat(AT_FDCWD, "/opt/a/5.36.0", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory) x2
//! newfstatat(AT_FDCWD, "/opt/a/strict.pmc", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory) x2
//! newfstatat(AT_FDCWD, "/opt/a/strict.pm", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory) x2
//! newfstatat(AT_FDCWD, "/etc/perl/strict.pmc", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/etc/perl/strict.pm", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/a/POSIX.pmc", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory) x2
//! newfstatat(AT_FDCWD, "/opt/a/POSIX.pm", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory) x2
//! newfstatat(AT_FDCWD, "/opt/a/Fcntl.pm", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory) x2
//! newfstatat(AT_FDCWD, "/etc/perl/POSIX.pmc", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/etc/perl/POSIX.pm", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! ```
//! ```finding
//! perl-path: 6 of 12
//! unset PERL5LIB
//! ```
//!
//! Perl ignores PERLLIB as long as PERL5LIB is set, if only to nothing. With PERL5LIB unset it would search the
//! directories of PERLLIB instead:
//!
//! ```trace
//! env PERL5LIB=/opt/a PERLLIB=/opt/b
//! execve("/usr/bin/perl", ["perl"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! newfstatat(AT_FDCWD, "/opt/a/strict.pmc", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory) x4
//! newfstatat(AT_FDCWD, "/opt/a/strict.pm", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory) x4
//! openat(AT_FDCWD, "/usr/share/perl/5.36/strict.pm", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! perl-path: 8 of 8
//! set PERL5LIB=
//! ```
//!
//! ## Not a finding
//!
//! Perl's own directories, and one that holds a module:
//!
//! ```trace
//! env PERL5LIB=/opt/a
//! execve("/usr/bin/perl", ["perl"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! newfstatat(AT_FDCWD, "/opt/a/strict.pmc", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/a/strict.pm", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/a/warnings.pmc", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/a/warnings.pm", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/a/Mine.pmc", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/Mine.pm", O_RDONLY|O_CLOEXEC) = 3
//! newfstatat(AT_FDCWD, "/etc/perl/strict.pmc", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/etc/perl/strict.pm", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/etc/perl/a.pm", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/etc/perl/b.pm", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/etc/perl/c.pm", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/etc/perl/d.pm", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! ```
//! ```finding
//! nothing
//! ```
//!
//! PERLLIB beside PERL5LIB, which makes Perl ignore it: these directories come from elsewhere.
//!
//! ```trace
//! env PERL5LIB= PERLLIB=/opt/a
//! execve("/usr/bin/perl", ["perl", "-I/opt/a"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! newfstatat(AT_FDCWD, "/opt/a/strict.pmc", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory) x4
//! newfstatat(AT_FDCWD, "/opt/a/strict.pm", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory) x4
//! openat(AT_FDCWD, "/usr/share/perl/5.36/strict.pm", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Unset the variable, or leave only the directories that hold modules. Do not do this if a program
//! that was not observed loads modules from them: write `use lib` in that program first. If both
//! variables are set, Perl uses PERLLIB as soon as PERL5LIB is unset: set PERL5LIB to nothing, or unset both.
//!
//! ## References
//!
//! * `man 1 perlrun`, PERL5LIB and PERLLIB

use crate::engine::helpers::named;
use crate::lists::DuplicateEntry;
use crate::lists::{Infer, Next, Search};
use crate::{Rule, View};
use needless_model::ProcId;

pub(crate) const RULE: Rule = Rule {
    name: "perl-path",
    summary: "PERL5LIB or PERLLIB lists directories that hold none of the modules that Perl programs load",
    variables: &["PERL5LIB", "PERLLIB"],
    lists: &LISTS,
    mentions: &[".pm"],
    ..Rule::PLAIN
};

/// What the two lists share.
const LIST: Search = Search {
    file: |path| {
        [".pm", ".pmc", ".pl", ".pod"].iter().any(|end| path.ends_with(end))
            || !path.contains('.')
            || path.contains("5.")
    },
    again: DuplicateEntry::Names,
    things: "Perl modules",
    why: "Perl searches the list before its own directories, and looks for each module twice in \
          each directory.",
    caveat: "Another run of this program, or another program, may load modules from these directories: look into them first.",
    user_ns: Some(400),
    ..Search::BY_PROGRAM
};

/// Perl reads the second only where the first is not set, not even to an empty text.
const LISTS: [Search; 2] = [
    Search {
        variable: FIRST,
        who: |view, id| view.process(id).env.value(FIRST).is_none() || perl(view, id),
        infer: Infer::Chains,
        manual: "Find out what puts these directories on @INC before Perl's own: PERL5LIB, -I or `use lib`",
        next: Some(Next {
            variable: SECOND,
            price: "The variable stays set, to nothing: if it were unset, Perl would search the directories \
                    of PERLLIB.",
        }),
        ..LIST
    },
    Search {
        variable: SECOND,
        who: |view, id| view.process(id).env.is_unset(FIRST) && perl(view, id),
        ..LIST
    },
];
const FIRST: &str = "PERL5LIB";
const SECOND: &str = "PERLLIB";

fn perl(view: &View<'_>, id: ProcId) -> bool {
    let is_module = |path: &str| path.ends_with(".pm") || path.ends_with(".pmc");
    named(view, id, &["perl"]) || view.rows_of(id).any(|(_, row)| is_module(view.profile.path(row)))
}
