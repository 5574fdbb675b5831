//! The rules, which say what is needless: one file per rule, pure functions from a profile to
//! findings.
//!
//! A rule's file is its page, its tests and its code: the `//!` comment at its head is what
//! `needless explain` prints, and each `trace` block there with the `finding` block after it runs
//! as a test (the notation is described in `notation.rs` of `strace-log`).
//!
//! Users declare rules of their own as data ([`Declared`]); these are checked first.
//!
//! # When a finding is shown
//!
//! A finding counts only if its change is worth making. It is shown if all of this holds; otherwise
//! it is listed among those below the threshold:
//!
//! * at least 6 calls could go;
//! * they are at least [`CheckOptions::min_saving_percent`] percent (1 by default) of the calls that
//!   name a path; not of all calls, so that every backend judges alike. Where CPU time is known,
//!   calls that take 1 ms and 0.5 % of it need no such share;
//! * where CPU time is known and the time of the calls is measured or calibrated: that time
//!   is at least a hundredth of this percentage of the CPU time (0.01 % by default). A program
//!   that computes for an hour is not made faster by saving ten calls.
//!
//! If each service is judged by itself ([`check_by_service`]), the calls and the CPU time are those
//! of the service.
//!
//! A cost worth fixing in a loop is not worth reporting once at start-up. For what each start of a healthy program does
//! in an ordinary environment (a spelling of its locale), the threshold is higher: 100 calls, and a tenth of a percent
//! of the CPU time or, if that is not known, two percent of the calls.
//!
//! If a compiled program between the command and the process set the variable, and neither an
//! argument nor a configuration known here makes it do so, the remedy would be in that program's
//! source. Such a finding is shown only on demand ([`CheckOptions::pedantic`], or the rule by its
//! name); otherwise a notice says how many calls it is, and why.
//!
//! A percentage of 0 shows everything. Rules that warn of wrong results (times in the wrong zone)
//! are shown however few calls they are about.
//!
//! # What is small
//!
//! The threshold above is about calls, so that the same findings come from every backend and every
//! run: other tools, baselines and gates rely on that. Whether a person needs to read about a
//! finding is a question of time, and is answered afterwards, in one place ([`Scale`]): a remedy
//! is small if all that it saves ([`by_remedy`]) is less than 1 ms and less than 0.5 % of the CPU
//! time of a command, or less than 0.1 % of a core in a window. It has to be below both limits: a
//! short run has little CPU time, so that a few calls can be a part of it; a long one hides a millisecond.
//! Where CPU time is not known (ptrace distorts it, a log has none), one tenth of the calls that name a path stands for
//! 0.5 % of it. Small findings stay findings; a report gives them a line each at its end. A remedy against wrong
//! results is never small. Unexplained calls are measured on the same scale.

mod account;
mod activity;
mod again;
mod amount;
mod baseline;
mod budget;
mod by_service;
mod declared;
mod details;
mod dirs;
mod example;
mod glob;
mod helpers;
mod ignore;
mod launchers;
mod list_entries;
mod list_finding;
mod list_variable;
mod load_path;
mod loader;
mod locale;
mod locale_advice;
mod measured;
mod merged;
mod misread;
mod page;
mod placement;
mod rederive;
mod search;
mod search_advice;
mod searched;
mod select;
mod size;
mod spent;
pub mod text;
mod unprivileged;
mod verdict;
mod waiting;
mod zone;
mod zone_looker;
mod zone_wanted;

#[cfg(test)]
mod tests;

use needless_model::{Fact, WatchList};
use search::Search;
use std::collections::BTreeSet;

pub use account::{Account, Claim, Share, Unanswered, Unexplained};
pub use activity::Activity;
pub use amount::Amount;
pub use baseline::{Known, leave_out_known};
pub use budget::{
    Budget, Cause, CauseKind, Counted, Counts, EnvironmentChange, Limit, Measured, callers, causes,
    counts, is_chance, is_missing, measured_counts,
};
pub use by_service::{check_by_service, check_with_accounts};
pub use declared::{CallPattern, Declared, Example, Needless, OutcomePattern, VariablePattern};
pub use example::{Block, compare, examples};
pub use glob::Glob;
pub use ignore::{Ignore, LastDay, UNUSED_IGNORE, suppress};
pub use measured::{MeasuredCase, measured};
pub use page::{Page, PageSection, SECTIONS, page};
pub use rederive::{can_advise, rederive};
pub use select::{Sink, View};
pub use size::{Scale, by_remedy};
pub use spent::{Many, ProgramCpu, connections, cpu_by_program, started};
pub use verdict::{CheckOptions, NotChecked, Selection, Suppressed, Verdict, check};
pub use waiting::{SlowMount, WaitKind, Waits, slow_mount, waits};

/// One kind of needless work, and how to recognise it.
#[derive(Debug)]
pub struct Rule {
    /// Its name, which reads well after "ignore": `tz-unset`.
    pub name: &'static str,
    /// What it finds, in one line.
    pub summary: &'static str,
    /// Facts without which it cannot be checked.
    pub needs: &'static [Fact],
    /// Environment variables it reads.
    pub variables: &'static [&'static str],
    /// Whether it warns of wrong results, and so is shown however little it would save.
    pub correctness: bool,
    /// Whether what it finds cannot be changed, or only in code that is not the user's: shown only
    /// on demand ([`CheckOptions::pedantic`]).
    pub pedantic: bool,
    /// The lists of directories it is about, if that is all it is about: they are checked alike.
    lists: &'static [Search],
    /// Texts of which at least one stands in a path or an argument where there is something to find. Every
    /// rule checks every profile: without them it need not look at the rows.
    mentions: &'static [&'static str],
    /// Its source; [`page()`] takes the page from it.
    page: &'static str,
    /// What [`Rule::check`] calls.
    check: fn(&View<'_>, &mut Sink),
}

impl Rule {
    /// What most rules share: they count calls by path and outcome, read no variable and find waste, not
    /// wrong results.
    const PLAIN: Rule = Rule {
        name: "",
        summary: "",
        needs: &[Fact::Paths, Fact::Outcomes],
        variables: &[],
        correctness: false,
        pedantic: false,
        lists: &[],
        mentions: &[],
        page: "",
        check: |_, _| {},
    };

    /// Looks for what the rule is about, and adds to the sink what it found or can explain.
    pub fn check(&self, view: &View<'_>, sink: &mut Sink) {
        if self.mentions.is_empty() || self.mentions.iter().any(|part| view.may_mention(part)) {
            (self.check)(view, sink);
            search::check(view, sink, self);
        }
    }
}

/// Declares the rules in the order in which they are checked: of each file its `RULE`, as the page its text, and its
/// `check`; a file marked `lists` has none, only [`Rule::lists`]. A rule whose page has no example of what is *not* a
/// finding does not compile.
macro_rules! rules {
    ($($file:ident $(: $lists:ident)?),+ $(,)?) => {
        $(mod $file;)+

        /// Every rule, in the order of checking.
        pub static RULES: &[&Rule] = &[$(&Rule {
            page: include_str!(concat!(stringify!($file), ".rs")),
            check: rules!(@check $file $($lists)?),
            ..$file::RULE
        }),+];

        $(const _: () = assert!(
            page::has_counterexample(include_str!(concat!(stringify!($file), ".rs"))),
            concat!(
                "the page of ",
                stringify!($file),
                " lacks, below `## Not a finding`, a trace block followed by a finding block ",
                "that says `nothing`",
            ),
        );)+
    };
    (@check $file:ident) => { $file::check };
    (@check $file:ident lists) => { |_, _| {} };
}

rules![
    tz_unset,
    zone_file_missing,
    tz_rule_missing,
    tz_misread,
    tz_not_found,
    preload_missing,
    library_search: lists,
    library_runpath,
    command_search: lists,
    python_path: lists,
    perl_path: lists,
    ruby_path: lists,
    node_path: lists,
    module_walk,
    python_bytecode,
    zone_scan,
    terminal_search: lists,
    terminal_unknown,
    font_cache,
    data_directories: lists,
    converter_path,
    message_path,
    resolver_reread,
    hosts_reread,
    user_lookup,
    php_realpath,
    php_include_path: lists,
    java_monitoring_file,
    java_container_check,
    class_path,
    git_discovery,
    htaccess_search,
    apache_links,
    kerberos_probing,
    certificate_reread,
    header_search: lists,
    loader_cache,
    processor_count,
    host_aliases,
    zone_reload,
    nginx_open_files,
    unbuffered_output,
    unbuffered_input,
    heap_trim_churn,
    close_storm,
    clock_without_vdso,
    name_search_list,
    log_socket_missing,
    locale_alias,
    locale_spelling,
    locale_not_installed,
    catalogue_search,
    bash_env,
    search_list,
    repeated_question,
];

/// The rule with this name.
pub fn by_name(name: &str) -> Option<&'static Rule> {
    RULES.iter().copied().find(|rule| rule.name == name)
}

/// The environment variables that some rule reads, sorted: the only ones that may enter a profile.
pub fn watched_variables() -> WatchList {
    let all: BTreeSet<&str> = RULES.iter().flat_map(|rule| rule.variables).copied().collect();
    all.into_iter().collect()
}
