//! What a report advises, derived again from the facts that the rule had; and what no report can
//! make `fix` do.

use super::profile;
use crate::engine::rederive;
use crate::{CheckOptions, RULES, View, check, examples, page};
use needless_model::{
    Change, Env, Host, Libc, ProcId, Process, Profile, Remedy, Safety, Spawn, SystemZone, ZoneFile,
};
use std::collections::BTreeMap;

fn set(variable: &str, value: &str) -> Change {
    Change::SetEnv { variable: variable.into(), value: Some(value.into()) }
}

fn unset(variable: &str) -> Change {
    Change::UnsetEnv { variable: variable.into() }
}

/// A process with these variables, on a machine in Asia/Tokyo.
fn here(env: &[(&str, &str)]) -> Profile {
    let env = env.iter().map(|(name, value)| (name.to_string(), value.to_string()));
    let env: BTreeMap<String, String> = env.collect();
    let process = Process {
        env: Env::Known(env),
        exe: Some("/usr/bin/app".into()),
        libc: Libc::Glibc(None),
        ..Process::new(1, None, Spawn::Seen)
    };
    let zone = SystemZone {
        file: ZoneFile::Link("/usr/share/zoneinfo/Asia/Tokyo".into()),
        name: Some("Asia/Tokyo".into()),
        how: "the link".into(),
        tzdata: true,
    };
    let host = Host { zone: Some(zone), ..Host::default() };
    Profile { processes: vec![process], host, ..Profile::default() }
}

/// Every remedy of every example that a tool may apply comes out as it was, caveat and all, of nothing but
/// the rule's name, the change and the process. A rule whose remedy does not is one that `fix` would refuse.
#[test]
fn every_remedy_of_every_example_is_worked_out_again() {
    let mut seen = 0;
    for rule in RULES {
        for example in page(rule).sections.iter().flat_map(|s| examples(&s.text).unwrap()) {
            let profile = profile(&example.trace);
            let options =
                CheckOptions { min_saving_percent: 0.0, pedantic: true, ..CheckOptions::default() };
            for finding in check(&profile, &options).findings {
                for remedy in &finding.remedies {
                    seen += u32::from(again(&profile, finding.processes[0], &finding.rule, remedy));
                }
            }
        }
    }
    assert!(seen > 30, "{seen}");
}

fn again(profile: &Profile, id: ProcId, rule: &str, remedy: &Remedy) -> bool {
    let known = match &remedy.change {
        Change::SetEnv { value, .. } => value.is_some(),
        Change::UnsetEnv { .. } | Change::Preload | Change::Setting(..) => true,
        _ => false,
    };
    let process = profile.process(id);
    let libc = View::new(profile).libc(id).clone();
    // Without an environment there is no list to make shorter, and it is not known whether the
    // preload library helps.
    let unknown = process.env == Env::Unknown
        || (libc == Libc::Unknown && remedy.change == Change::Preload)
        || (profile.host.locales.is_empty() && rule.starts_with("locale-"));
    // The one that is refused on purpose: a library that would be loaded because a file names it.
    let loads =
        matches!(&remedy.change, Change::SetEnv { variable, .. } if variable == "LD_PRELOAD");
    if loads || !known || unknown || matches!(remedy.safety, Safety::Manual(_)) {
        return false;
    }
    let (process, host) = (Process { libc, ..process.clone() }, profile.host.clone());
    let now = Profile { processes: vec![process], host, ..Profile::default() };
    let made = rederive(rule, &remedy.change, &now);
    assert_eq!(made.as_ref(), Ok(remedy), "{rule}");
    true
}

/// What a hostile report asks for, in every rule that reads the variable and in one that does not.
#[test]
fn no_value_comes_from_a_report() {
    let evil = "/tmp/evil";
    let loads = [
        "LD_LIBRARY_PATH",
        "LD_PRELOAD",
        "LD_AUDIT",
        "PATH",
        "GCONV_PATH",
        "LOCPATH",
        "NLSPATH",
        "PYTHONPATH",
        "PYTHONSTARTUP",
        "PERL5LIB",
        "RUBYLIB",
        "NODE_PATH",
        "NODE_OPTIONS",
        "JAVA_TOOL_OPTIONS",
        "BASH_ENV",
        "HOSTALIASES",
        "XDG_DATA_DIRS",
        "CPATH",
        "TERMINFO_DIRS",
        "LANGUAGE",
        "MALLOC_TRIM_THRESHOLD_",
    ];
    let now = here(&loads.map(|variable| (variable, "/opt/mine:/usr/mine")));
    for rule in RULES {
        for variable in loads {
            for value in
                [evil, "/opt/mine:/tmp/evil", "/tmp/evil:/opt/mine", "-javaagent:/tmp/evil"]
            {
                let Ok(made) = rederive(rule.name, &set(variable, value), &now) else { continue };
                assert!(rule.variables.contains(&variable), "{} {variable}", rule.name);
                let Change::SetEnv { value: Some(made), .. } = &made.change else { continue };
                assert!(!made.contains("evil"), "{} {variable}: {made}", rule.name);
                assert_ne!(variable, "LD_PRELOAD");
            }
        }
    }
    for variable in loads {
        assert!(rederive("tz-unset", &set(variable, evil), &now).is_err(), "{variable}");
        assert!(rederive("no-such-rule", &set(variable, evil), &now).is_err(), "{variable}");
    }
    assert!(rederive("tz-not-found", &Change::Preload, &now).is_err());
}

#[test]
fn a_list_only_loses_what_the_process_has() {
    let now = here(&[("LD_LIBRARY_PATH", "/a:/b/:/c:/b")]);
    let made = |said: &Change| rederive("library-search", said, &now).map(|remedy| remedy.change);
    assert_eq!(
        made(&set("LD_LIBRARY_PATH", "/c:/tmp/evil:/a")),
        Ok(set("LD_LIBRARY_PATH", "/a:/c"))
    );
    assert_eq!(made(&unset("LD_LIBRARY_PATH")), Ok(unset("LD_LIBRARY_PATH")));
    assert_eq!(made(&set("LD_LIBRARY_PATH", "/tmp/evil")), Ok(unset("LD_LIBRARY_PATH")));
    assert!(made(&set("LD_LIBRARY_PATH", "/a:/b:/c")).unwrap_err().contains("lists none"));
    let none = rederive("library-search", &unset("LD_LIBRARY_PATH"), &here(&[]));
    assert!(none.unwrap_err().contains("is not set there"));
    // A person decides which of two programs runs, not a report.
    let path = rederive("command-search", &set("PATH", "/bin"), &here(&[("PATH", "/bin:/x")]));
    assert!(matches!(path.unwrap().safety, Safety::Manual(_)));
}

#[test]
fn constants_zones_and_options_are_the_rules_own() {
    let now = here(&[("RES_OPTIONS", "rotate"), ("TERM", "xterm-x"), ("LANGUAGE", "de_AT:fr")]);
    let made = |rule: &str, said: Change| rederive(rule, &said, &now).map(|remedy| remedy.change);
    assert_eq!(made("tz-unset", set("TZ", "Europe/Evil")), Ok(set("TZ", "Asia/Tokyo")));
    assert_eq!(
        made("heap-trim-churn", set("MALLOC_TRIM_THRESHOLD_", "1")),
        Ok(set("MALLOC_TRIM_THRESHOLD_", "268435456"))
    );
    let tuned = here(&[("GLIBC_TUNABLES", "glibc.malloc.trim_threshold=4096")]);
    let refused = rederive("heap-trim-churn", &set("MALLOC_TRIM_THRESHOLD_", "1"), &tuned);
    assert!(refused.unwrap_err().contains("GLIBC_TUNABLES"));
    let both = here(&[("LANG", "C.UTF-8"), ("LC_TIME", "de_DE.UTF-8")]);
    let refused = rederive("locale-not-installed", &set("LC_TIME", "C"), &both);
    assert!(refused.unwrap_err().contains("LANG asks for a locale, too"));
    let more = set("RES_OPTIONS", "rotate no-reload");
    assert_eq!(made("resolver-reread", set("RES_OPTIONS", "evil")), Ok(more));
    assert_eq!(made("terminal-unknown", set("TERM", "../evil")), Ok(set("TERM", "xterm-256color")));
    assert_eq!(made("catalogue-search", set("LANGUAGE", "de")), Ok(set("LANGUAGE", "de")));
    for wrong in ["../../tmp/evil", "en", "de.utf8/../../tmp"] {
        assert!(made("catalogue-search", set("LANGUAGE", wrong)).is_err(), "{wrong}");
    }
    assert!(made("zone-file-missing", set("TZ", "UTC")).unwrap_err().contains("not missing"));
    assert!(made("python-bytecode", unset("PYTHONDONTWRITEBYTECODE")).is_err());
    assert!(made("locale-spelling", set("LANG", "C.utf8")).unwrap_err().contains("not set there"));
}
