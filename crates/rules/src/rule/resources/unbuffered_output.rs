//! ## What it finds
//!
//! Programs that write many small pieces to standard output, to a file or a pipe, one right after
//! the other: without a buffer, or with one that is emptied at each line. Output to /dev/null
//! counts only if the environment is the cause.
//!
//! ## Why it happens
//!
//! The C library and Python collect what is written, and write some kilobytes at a time, unless
//! something turns that off: PYTHONUNBUFFERED (four writes for `print("line", n)`), `stdbuf`, an
//! option (`grep --line-buffered`, `sed -u`), or a flush in the program. Each piece then costs a
//! call.
//!
//! ## Example
//!
//! ```trace
//! env PYTHONUNBUFFERED=1
//! execve("/usr/bin/python3", ["python3"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 3000
//! write(1, "line", 4) = 4
//! write(1, "\n", 1) = 1
//! end
//! ```
//! ```finding
//! unbuffered-output: 5999 of 6000
//! stage seen
//! unset PYTHONUNBUFFERED
//! ```
//!
//! The stage is `seen`, because `python3 -u` makes the same writes without the variable, and
//! `print(..., flush=True)` half of them; a profile holds no arguments. The same is true of stdbuf and a program that
//! flushes by itself:
//!
//! ```trace
//! env _STDBUF_O=L
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! write(1, "line\n", 5) = 5 x2000
//! ```
//! ```finding
//! unbuffered-output: 1999 of 2000
//! stage seen
//! unset _STDBUF_O
//! ```
//!
//! If no variable is known to be the cause:
//!
//! ```trace
//! execve("/usr/bin/cut", ["cut"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! write(1, "line\n", 5) = 5 x3000
//! ```
//! ```finding
//! unbuffered-output: 2999 of 3000
//! manual
//! ```
//!
//! A cause in the environment is also reported if the output goes to /dev/null: other runs of the
//! program may write to a file.
//!
//! ```trace
//! env PYTHONUNBUFFERED=1
//! execve("/usr/bin/python3", ["python3"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! newfstatat(1, "", {st_mode=S_IFCHR|0666, st_rdev=makedev(0x1, 0x3), ...}, AT_EMPTY_PATH) = 0
//! write(1, "line\n", 5) = 5 x3000
//! ```
//! ```finding
//! unbuffered-output: 2999 of 3000
//! unset PYTHONUNBUFFERED
//! ```
//!
//! A filter that reads whole buffers answers nobody:
//!
//! ```trace
//! env PYTHONUNBUFFERED=1
//! execve("/usr/bin/python3", ["python3"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 30
//! read(0, "line\nline\nline\n"..., 8192) = 8192
//! write(1, "line\n", 5) = 5 x100
//! end
//! ```
//! ```finding
//! unbuffered-output: 2970 of 3000
//! unset PYTHONUNBUFFERED
//! ```
//!
//! ## Not a finding
//!
//! A program that writes like this by itself, if the output goes to /dev/null: a buffer would gain
//! little.
//!
//! ```trace
//! execve("/usr/bin/cut", ["cut"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! newfstatat(1, "", {st_mode=S_IFCHR|0666, st_rdev=makedev(0x1, 0x3), ...}, AT_EMPTY_PATH) = 0
//! write(1, "line\n", 5) = 5 x3000
//! execve("/usr/bin/cut", ["cut"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! write(1</dev/null>, "line\n", 5) = 5 x3000
//! ```
//! ```finding
//! nothing
//! ```
//!
//! A program that writes like this by itself and has no option for it, if the environment is known:
//! only its code could change it (`-vv` shows it).
//!
//! ```trace
//! env -_STDBUF_O
//! execve("/usr/bin/col", ["col"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! write(1, "line\n", 5) = 5 x3000
//! execve("/usr/bin/rev", ["rev"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! write(1, "line\n", 5) = 5 x3000
//! ```
//! ```finding
//! nothing
//! ```
//!
//! A program whose whole job is to pass each line on as it comes:
//!
//! ```trace
//! execve("/usr/bin/ts", ["ts"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! write(1, "Nov 22 02:30:11 line\n", 21) = 21 x3000
//! ```
//! ```finding
//! nothing
//! ```
//!
//! A shell, whose `echo` and `set` write at once: what it starts next writes to the same place.
//!
//! ```trace
//! execve("/bin/bash", ["bash", "./configure"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 520
//! write(1, "ac_cv_env_CC_value=''", 21) = 21
//! write(1, "\n", 1) = 1
//! end
//! ```
//! ```finding
//! nothing
//! ```
//!
//! A program that answers questions, each at once, and needs the variable for it: whoever asks waits for the answer. A
//! read of less than 1 KiB is a question, and the 64 writes after it are the answer.
//!
//! ```trace
//! env PYTHONUNBUFFERED=1
//! execve("/usr/bin/python3", ["python3"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 300
//! read(0, "question\n", 8192) = 9
//! write(1, "piece of the answer", 19) = 19 x40
//! end
//! ```
//! ```finding
//! nothing
//! ```
//!
//! A terminal; and pieces that come rarely, each after a wait:
//!
//! ```trace
//! execve("/usr/bin/top", ["top"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! newfstatat(1, "", {st_mode=S_IFCHR|0620, st_rdev=makedev(0x88, 0), ...}, AT_EMPTY_PATH) = 0
//! write(1, "x", 1) = 1 x3000
//! execve("/usr/bin/tail", ["tail"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 3000
//! clock_nanosleep(CLOCK_REALTIME, 0, {tv_sec=1, tv_nsec=0}, NULL) = 0
//! write(1, "line\n", 5) = 5
//! end
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Unset PYTHONUNBUFFERED, `_STDBUF_O`, or drop the option (`grep --line-buffered`, `sed -u`); in a
//! Tcl script write `fconfigure stdout -buffering full`; and flush if a line must be seen at once
//! (`print(..., flush=True)`). Do not do this if somebody reads the output as it comes or waits for
//! an answer, or if the last lines before a crash matter, as in a log: what is in the buffer when a
//! program is killed is lost. Some programs (`bc`, `col`, `rev`, `unzip`) write like this by themselves,
//! and only their code could change it: that is shown only with `-vv`.
//!
//! ## References
//!
//! * `man 3 setvbuf`
//! * `man 1 stdbuf`
//! * <https://docs.python.org/3/using/cmdline.html#envvar-PYTHONUNBUFFERED>

use crate::engine::details;
use crate::engine::helpers;
use crate::engine::{Case, Threshold};
use crate::text::number;
use crate::{Rule, Sink, View};
use needless_model::{ArgClass, Env, Fact, Process, Remedy, Stage};
use std::collections::BTreeMap;

pub(crate) const RULE: Rule = Rule {
    name: "unbuffered-output",
    summary: "Standard output is written in small pieces, one call for each",
    needs: &[Fact::Details, Fact::Outcomes],
    variables: &["PYTHONUNBUFFERED", "_STDBUF_O"],
    ..Rule::PLAIN
};

/// Fewer pieces cost no noticeable time.
const FEWEST: u64 = 500;
/// Programs whose whole job is to pass each line on as it comes, by the name they are started under: `ts`
/// (moreutils) stamps lines with the time at which they came, and sets `$|` for it. OutsideList of the kind need
/// no name here: `tee` and `annotate-output` read between their writes, `tai64n` and `logsave` have a
/// buffer.
const RELAYS: [&str; 1] = ["ts"];

/// What turns the buffer off.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    Python,
    /// stdbuf, with its mode.
    Stdbuf(String),
    /// The program: an option, or its code.
    Own,
}

impl Cause {
    fn of(process: &Process) -> Cause {
        let set = |name: &str| process.env.value(name).filter(|value| !value.is_empty());
        let python = ["python", "pypy"].iter().any(|name| process.name().starts_with(name));
        match (set("PYTHONUNBUFFERED"), set("_STDBUF_O")) {
            (Some(_), _) if python => Cause::Python,
            (_, Some(mode)) => Cause::Stdbuf(mode.to_owned()),
            _ => Cause::Own,
        }
    }

    fn label(&self) -> String {
        match self {
            Cause::Python => "PYTHONUNBUFFERED is set; the option -u or flush=True in the code \
                              may do it as well"
                .to_owned(),
            Cause::Stdbuf(mode) => format!(
                "stdbuf -o{mode} is in effect (_STDBUF_O); the program may flush by itself as well"
            ),
            Cause::Own => "an option, the environment or its code says so".to_owned(),
        }
    }

    /// Whether it could be changed only in the code of a program that is not the user's.
    fn beyond_help(&self, process: &Process) -> bool {
        *self == Cause::Own && process.env != Env::Unknown && WITHOUT.contains(&process.name())
    }

    fn remedy(&self, program: &str) -> Remedy {
        match self {
            Cause::Python => remedy("PYTHONUNBUFFERED"),
            Cause::Stdbuf(_) => remedy("_STDBUF_O"),
            Cause::Own => helpers::by_hand(&own_way(program), PRICE),
        }
    }
}

/// Programs that have a switch for it, by the start of their names, and what to do with it.
const SWITCHES: [(&str, &str); 13] = [
    ("tclsh", "In the script: fconfigure stdout -buffering full"),
    ("wish", "In the script: fconfigure stdout -buffering full"),
    ("perl", "In the script: leave $| as it is (0), or take out the flush after each line"),
    ("python", "Drop -u, or flush=True, or the flush after each line"),
    ("pypy", "Drop -u, or flush=True, or the flush after each line"),
    (
        "ruby",
        "In the script: leave $stdout.sync as it is (false), or take out the flush after each line",
    ),
    ("php", "php -d output_buffering=4096, or in the script: ob_start(null, 4096)"),
    ("gawk", "In the script: take out fflush()"),
    ("mawk", "Drop -W interactive, or take out fflush()"),
    ("grep", "Drop --line-buffered"),
    ("sed", "Drop -u"),
    ("jq", "Drop --unbuffered"),
    ("tcpdump", "Drop -l or -U"),
];

/// Programs that have none. What of util-linux writes wide characters has a buffer of a few bytes.
const WITHOUT: [&str; 13] = [
    "bc", "dc", "col", "colcrt", "colrm", "column", "cut", "expand", "fold", "rev", "sbcl", "ul",
    "unzip",
];

/// What can be done about a program that writes like this by itself, or because an option asks for
/// it.
fn own_way(program: &str) -> String {
    let switch = SWITCHES.iter().find(|(name, _)| program.starts_with(name));
    match switch {
        Some((_, what)) => (*what).to_owned(),
        None if WITHOUT.contains(&program) => {
            format!(
                "If stdbuf was put before {program}, drop that. Otherwise it writes like this by \
                 itself, and has no option for it: only its code could change it"
            )
        }
        None => format!(
            "If an option of {program} (such as --line-buffered) or a flush in your script asks for \
             it, take that out. Otherwise it writes like this by itself, and only its code could \
             change it"
        ),
    }
}

/// Shells, by the names they are started under: each `echo` and `set` of theirs writes at once,
/// because the commands that they start next write to the same place.
const SHELLS: [&str; 13] = [
    "bash", "dash", "sh", "ash", "ksh", "ksh93", "mksh", "lksh", "yash", "zsh", "fish", "tcsh",
    "csh",
];

fn is_shell(process: &Process) -> bool {
    let started_as = process.command.as_deref().unwrap_or(process.name());
    SHELLS.contains(&process.name())
        || (process.name() == "busybox" && SHELLS.contains(&started_as))
}

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let cause = |case: &Case| Cause::of(view.process(case.process));
    let command = |case: &Case| view.process(case.process).command.as_deref();
    let relays = |case: &Case| command(case).is_some_and(|name| RELAYS.contains(&name));
    // Small writes to /dev/null that a program makes by itself cost it little.
    let own = details::storms(view, &[ArgClass::SmallOutput], FEWEST).into_iter();
    let shell = |case: &Case| is_shell(view.process(case.process));
    let own = own.filter(|case| cause(case) == Cause::Own && !relays(case) && !shell(case));
    let discarded = details::storms(view, &[ArgClass::DiscardedOutput], FEWEST);
    if discarded.iter().any(|case| view.env_unknown(case.process)) {
        sink.lack(RULE.name, Fact::Environment);
    }
    let both = [ArgClass::SmallOutput, ArgClass::DiscardedOutput];
    let caused = details::storms(view, &both, FEWEST).into_iter();
    let caused = caused.filter(|case| cause(case) != Cause::Own);
    let mut by_cause: BTreeMap<Cause, Vec<Case>> = BTreeMap::new();
    for case in own.chain(caused) {
        by_cause.entry(cause(&case)).or_default().push(case);
    }
    for (cause, cases) in by_cause {
        for (program, cases) in helpers::by_program(view, cases, FEWEST) {
            let merged = helpers::merged(view, cases);
            let what = format!(
                "{} writes of a few bytes to standard output, one after the other",
                number(merged.needless)
            );
            let why = format!(
                "{program} writes each piece by itself instead of gathering some kilobytes: {}. \
                 Nothing was read or waited for in between.",
                cause.label()
            );
            let process = view.process(merged.processes[0]);
            let remedy = cause.remedy(process.name());
            let threshold =
                if cause.beyond_help(process) { Threshold::OnDemand } else { Threshold::Usual };
            // An option (-u) or a flush of the program's own does the same, and neither is known here.
            let stage = Stage::Seen;
            let finding = helpers::finding(merged, RULE.name, stage, what, why, vec![remedy]);
            sink.find_beyond(threshold, finding);
        }
    }
}

/// Unsets the variable that turns the buffer off.
pub(crate) fn remedy(variable: &str) -> Remedy {
    let own = "Nothing changes for what the program flushes by itself, or because of an option (python -u).";
    helpers::unset(variable, &format!("{PRICE} {own}"))
}

/// What a buffer costs.
const PRICE: &str = "Output then comes some kilobytes at a time, and what is in the buffer is lost \
                     when the program is killed: wrong if somebody reads it as it comes, or waits \
                     for an answer.";
