//! A rule, and the list of all. Each is one file in the folder of its family, `rule/FAMILY/NAME.rs`: its page, its examples,
//! its tests and its code.

use crate::lists::{self, Search};
use crate::pages::page::has_counterexample;
use crate::{Sink, View};
use needless_model::{Fact, Process, Remedy, WatchList};
use std::collections::BTreeSet;

/// Works out a remedy for a process as it is, or why there is none.
pub(crate) type MakeRemedy = fn(&Process) -> Result<Remedy, String>;

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
    /// on demand ([`crate::CheckOptions::pedantic`]).
    pub pedantic: bool,
    /// The lists of directories it is about, if that is all it is about: they are checked alike.
    pub(crate) lists: &'static [Search],
    /// What it advises that is no variable and that `fix` can make, for this process as it is; or why not there.
    pub(crate) setting: Option<MakeRemedy>,
    /// Texts of which at least one stands in a path or an argument where there is something to find. Every
    /// rule checks every profile: without them it need not look at the rows.
    mentions: &'static [&'static str],
    /// Its source; [`page()`](crate::page) takes the page from it.
    pub(crate) page: &'static str,
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
        setting: None,
        mentions: &[],
        page: "",
        check: |_, _| {},
    };

    /// Looks for what the rule is about, and adds to the sink what it found or can explain.
    pub fn check(&self, view: &View<'_>, sink: &mut Sink) {
        if self.mentions.is_empty() || self.mentions.iter().any(|part| view.may_mention(part)) {
            (self.check)(view, sink);
            lists::check(view, sink, self);
        }
    }
}

/// Declares the rules by family, in the order in which they are checked: of each file its `RULE`, as the page its text, and
/// its `check`; a file marked `lists` has none, only [`Rule::lists`]. A rule whose page has no example of what is *not* a
/// finding does not compile.
macro_rules! rules {
    ($($family:ident { $($file:ident $(: $lists:ident)?),+ $(,)? })+) => {
        $(pub(crate) mod $family { $(pub(crate) mod $file;)+ })+

        /// Every rule, in the order of checking.
        pub static RULES: &[&Rule] = &[$($(&Rule {
            page: rules!(@page $family $file),
            check: rules!(@check $family $file $($lists)?),
            ..$family::$file::RULE
        }),+),+];

        $($(const _: () = assert!(
            has_counterexample(rules!(@page $family $file)),
            concat!(
                "the page of ",
                stringify!($file),
                " lacks, below `## Not a finding`, a trace block followed by a finding block ",
                "that says `nothing`",
            ),
        );)+)+
    };
    (@page $family:ident $file:ident) => {
        include_str!(concat!("rule/", stringify!($family), "/", stringify!($file), ".rs"))
    };
    (@check $family:ident $file:ident) => { $family::$file::check };
    (@check $family:ident $file:ident lists) => { |_, _| {} };
}

// The last family is asked last: its rules report what the others left over.
rules! {
    time {
        tz_unset,
        zone_file_missing,
        tz_rule_missing,
        tz_misread,
        tz_not_found,
        zone_scan,
        zone_reload,
        clock_without_vdso,
    }
    loader {
        preload_missing,
        library_search: lists,
        library_runpath,
        loader_cache,
    }
    interpreters {
        command_search: lists,
        python_path: lists,
        perl_path: lists,
        ruby_path: lists,
        node_path: lists,
        module_walk,
        python_bytecode,
        php_realpath,
        php_include_path: lists,
        java_monitoring_file,
        java_container_check,
        class_path,
        bash_env,
    }
    tools {
        terminal_search: lists,
        terminal_unknown,
        font_cache,
        data_directories: lists,
        git_discovery,
        header_search: lists,
    }
    names {
        resolver_reread,
        hosts_reread,
        user_lookup,
        host_aliases,
        name_search_list,
    }
    servers {
        htaccess_search,
        apache_links,
        kerberos_probing,
        certificate_reread,
        nginx_open_files,
        log_socket_missing,
    }
    resources {
        processor_count,
        unbuffered_output,
        unbuffered_input,
        heap_trim_churn,
        close_storm,
        small_transfers,
        busy_loop,
        descriptor_walk,
        own_identity,
        allocator_setting,
    }
    locale {
        converter_path,
        message_path,
        locale_alias,
        locale_spelling,
        locale_not_installed,
        catalogue_search,
    }
    general {
        search_list,
        repeated_question,
    }
}

/// The rule with this name.
pub fn by_name(name: &str) -> Option<&'static Rule> {
    RULES.iter().copied().find(|rule| rule.name == name)
}

/// The environment variables that some rule reads, sorted: the only ones that may enter a profile.
pub fn watched_variables() -> WatchList {
    let all: BTreeSet<&str> = RULES.iter().flat_map(|rule| rule.variables).copied().collect();
    all.into_iter().collect()
}
