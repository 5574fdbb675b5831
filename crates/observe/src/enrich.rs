//! Facts of the host that rules need, looked up after the run and only if the run has to do with them.

use crate::{assigned, bytecode, directories, locale_probe};
use needless_host::{
    Programs, Roots, fill_libcs, is_zone, measure_call_costs, measure_page_cost, read_zone,
};
use needless_model::{
    ArgClass, Costs, Env, Fact, LocaleProbe, ProcId, Profile, Query, Row, Target,
};
use std::collections::{BTreeMap, BTreeSet};

/// At most this many files that TZ names are read.
const ZONE_FILES: usize = 256;

/// At most this many names of locales are tried on the host. Each takes a tenth of a second.
const LOCALES: usize = 4;

/// Adds facts of this host to `profile`, which was observed here: C libraries and runtimes of its programs, and facts
/// of the machine.
pub fn enrich(profile: &mut Profile, roots: &Roots) {
    fill_libcs(profile, roots);
    machine(profile, roots, &mut Measured::default());
}

/// What takes long to measure and stays as it is while needless runs.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    pub(crate) programs: Programs,
    costs: Option<Costs>,
    /// Names of locales, as they were tried.
    locales: BTreeMap<String, Option<LocaleProbe>>,
}

/// Adds variables that scripts assign, what listed directories hold, whether Python may write there, the time zone if any program read one, locales that were searched for and not
/// found, the clock source if any program asked the kernel for the time, and the cost of calls.
pub(crate) fn machine(profile: &mut Profile, roots: &Roots, measured: &mut Measured) {
    assigned::fill(profile, roots);
    directories::fill(profile);
    bytecode::fill(profile);
    profile.host.zone_files = zone_files(profile, roots);
    profile.host.machine = rustix::system::uname().machine().to_string_lossy().into_owned();
    zones(profile, roots);
    locales(profile, &mut measured.locales);
    profile.host.clock_source = clock_source(profile);
    let costs = measured.costs.get_or_insert_with(measure_call_costs);
    /// Fewer bytes, given back by all processes together, are no finding.
    const MUCH: u64 = 16 << 20;
    let given_back = profile.processes.iter().filter_map(|process| process.given_back);
    if costs.page_ns == 0 && given_back.fold(0, u64::saturating_add) > MUCH {
        costs.page_ns = measure_page_cost();
    }
    profile.host.costs = Some(*costs);
    if profile.facts.has(Fact::KernelTime) {
        profile.host.mounts = needless_host::mounts();
    }
}

/// The kernel's clock source, if any program asked the kernel for the time.
fn clock_source(profile: &Profile) -> Option<String> {
    let asked = |row: &Row| row.target == Target::ArgClass(ArgClass::Clock);
    if !profile.rows.iter().any(asked) {
        return None;
    }
    let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    std::fs::read_to_string(source).ok().map(|name| name.trim().to_owned())
}

/// Whether the files are zones that programs opened because TZ names them, and those of the same names where glibc
/// looks without TZDIR.
pub(crate) fn zone_files(profile: &Profile, roots: &Roots) -> BTreeMap<String, bool> {
    let mut paths = BTreeSet::new();
    for row in profile.rows.iter().filter(|row| row.query == Query::Open) {
        let process = profile.process(row.process);
        let Some(name) = process.env.value("TZ").filter(|_| process.shares_root) else { continue };
        let name = name.strip_prefix(':').unwrap_or(name);
        let path = profile.path(row);
        let named = path == name || path.strip_suffix(name).is_some_and(|dir| dir.ends_with('/'));
        if name.is_empty() || !named || paths.len() >= ZONE_FILES {
            continue;
        }
        if matches!(row.target, Target::Path(_)) {
            paths.insert(path.to_owned());
        }
        if !name.starts_with('/') {
            paths.insert(format!("/usr/share/zoneinfo/{name}"));
        }
    }
    let known = |path: String| Some((is_zone(roots.own(), &path)?, path));
    paths.into_iter().filter_map(known).map(|(zone, path)| (path, zone)).collect()
}

fn zones(profile: &mut Profile, roots: &Roots) {
    let asks = |row: &&Row| {
        let path = profile.path(row);
        path == "/etc/localtime" || path.contains("/zoneinfo/")
    };
    let asking: BTreeSet<ProcId> =
        profile.rows.iter().filter(asks).map(|row| row.process).collect();
    if asking.is_empty() {
        return;
    }
    // Several processes share a root, which is looked at once.
    let mut known = BTreeMap::new();
    let mut others = Vec::new();
    for id in asking.into_iter().filter(|id| !profile.process(*id).shares_root) {
        let Some((number, root)) = roots.of(profile, id) else { continue };
        let zone = known.entry(number).or_insert_with(|| read_zone(root));
        others.push((id, zone.clone()));
    }
    profile.host.other_zones = others;
    profile.host.zone = Some(read_zone(roots.own()));
    profile.facts = profile.facts.with(Fact::HostZone);
}

fn locales(profile: &mut Profile, known: &mut BTreeMap<String, Option<LocaleProbe>>) {
    let names = requested(profile);
    if names.is_empty() {
        return;
    }
    let tried = names.iter().take(LOCALES);
    let probe = |name: &String| {
        let tried = known.entry(name.clone()).or_insert_with_key(|name| locale_probe::probe(name));
        tried.clone()
    };
    let probes: Vec<_> = tried.filter_map(probe).collect();
    if probes.is_empty() {
        return;
    }
    if names.len() > LOCALES {
        profile.notes.push(format!(
            "{} names of locales were requested; only the first {LOCALES} were tried on this host.",
            names.len()
        ));
    }
    profile.host.locales = probes;
    profile.facts = profile.facts.with(Fact::HostLocales);
}

/// The names of locales that processes searched for and did not find: those in variables, and the first one
/// that they tried, which is the program's own choice or the only trace of a variable.
fn requested(profile: &Profile) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut add = |name: &str| {
        let is_name = !name.is_empty() && !matches!(name, "C" | "POSIX") && !name.contains('/');
        if is_name && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    };
    let mut seen = BTreeSet::new();
    for row in &profile.rows {
        let failed = matches!(row.outcome, Some(Err(_))) && row.query == Query::Open;
        let Some(tried) = failed.then(|| searched_name(profile.path(row))).flatten() else {
            continue;
        };
        let process = profile.process(row.process);
        if !seen.insert(row.process) {
            continue;
        }
        // LOCPATH replaces the directories that are tried on the host.
        if process.shares_root && process.env.value("LOCPATH").is_none_or(str::is_empty) {
            from_variables(&process.env).into_iter().chain([tried]).for_each(&mut add);
        }
    }
    names
}

/// The name in `DIRECTORY/locale/NAME/LC_CATEGORY`.
fn searched_name(path: &str) -> Option<&str> {
    let (rest, category) = path.rsplit_once('/')?;
    let (directory, name) = rest.rsplit_once('/')?;
    (category.starts_with("LC_") && directory.ends_with("/locale")).then_some(name)
}

/// The values that apply (locale(7)): LC_ALL alone, else LANG and those of the categories.
fn from_variables(env: &Env) -> Vec<&str> {
    let set = |name: &str| env.value(name).filter(|value| !value.is_empty());
    if let Some(all) = set("LC_ALL") {
        return vec![all];
    }
    let Env::Known(variables) = env else { return Vec::new() };
    let categories = variables.keys().filter(|name| name.starts_with("LC_"));
    let categories = categories.filter_map(|name| set(name));
    set("LANG").into_iter().chain(categories).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use needless_model::{
        Answer, Backend, Builder, Errno, Facts, Limits, Process, Question, Spawn, Window,
    };

    /// A profile of one process with these variables that failed to open these paths.
    fn failing(variables: &[(&str, &str)], paths: &[&str]) -> Profile {
        let mut builder = Builder::new(Limits::default());
        let mut process = Process::new(1, None, Spawn::Exec);
        process.env =
            Env::Known(variables.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect());
        let process = builder.process(process);
        let call = builder.call("openat");
        for path in paths {
            let question = Question { call, query: Query::Open, path, from_dir_fd: false };
            let question = builder.question(process, question);
            builder.answer(question, Answer::outcome(Err(Errno(2))));
        }
        builder.finish(Backend::Ebpf, Facts::default(), Window::default())
    }

    const SEARCH: [&str; 2] =
        ["/usr/lib/locale/el_GR.UTF-8/LC_CTYPE", "/usr/lib/locale/el_GR.utf8/LC_CTYPE"];

    #[test]
    fn the_variable_in_force_and_the_name_tried_are_asked_for() {
        let names = |variables: &[_]| requested(&failing(variables, &SEARCH));
        assert_eq!(names(&[("LANG", "greek")]), ["greek", "el_GR.UTF-8"]);
        assert_eq!(names(&[("LC_ALL", "el_GR.UTF-8"), ("LANG", "xx")]), ["el_GR.UTF-8"]);
        assert_eq!(names(&[("LC_ALL", ""), ("LANG", "C")]), ["el_GR.UTF-8"]);
        assert_eq!(
            names(&[("LC_CTYPE", "de_DE"), ("LANG", "fr_FR")]),
            ["fr_FR", "de_DE", "el_GR.UTF-8"]
        );
        assert!(names(&[("LANG", "greek"), ("LOCPATH", "/srv/locale")]).is_empty());
        assert!(requested(&failing(&[("LANG", "greek")], &["/etc/nothing"])).is_empty());
    }

    #[test]
    fn a_zone_is_looked_up_where_one_was_asked_for() {
        let roots = Roots::new(Vec::new()).unwrap();
        let mut asks = failing(&[], &["/etc/localtime"]);
        enrich(&mut asks, &roots);
        assert!(asks.host.zone.is_some() && asks.facts.has(Fact::HostZone));
        assert!(!asks.host.machine.is_empty());

        let mut silent = failing(&[], &["/etc/passwd"]);
        enrich(&mut silent, &roots);
        assert!(silent.host.zone.is_none() && !silent.facts.has(Fact::HostZone));
        assert!(silent.host.costs.is_some());
    }

    #[test]
    fn a_file_that_tz_names_is_a_zone_or_not() {
        let roots = Roots::new(Vec::new()).unwrap();
        let files = |tz, path| zone_files(&failing(&[("TZ", tz)], &[path]), &roots);
        let here = |path: &str| is_zone(roots.own(), path);
        let nowhere = files("Europe/Nowhere", "/gone/Europe/Nowhere");
        let default = "/usr/share/zoneinfo/Europe/Nowhere".to_owned();
        assert_eq!(
            nowhere.into_iter().collect::<Vec<_>>(),
            [("/gone/Europe/Nowhere".to_owned(), false), (default, false)]
        );
        assert_eq!(files(":/etc/passwd", "/etc/passwd").get("/etc/passwd"), Some(&false));
        assert_eq!(files("/etc", "/etc").get("/etc"), Some(&false), "a directory");
        let utc = "/usr/share/zoneinfo/UTC";
        assert_eq!(files("UTC", utc).get(utc).copied(), here(utc));
        assert!(files("UTC", "/etc/hosts").is_empty(), "TZ does not name it");
        assert_eq!(here("/dev/null"), None, "only regular files are read");
    }

    #[test]
    fn another_root_has_its_own_zone() {
        let dir = tempfile::tempdir().unwrap();
        let root = std::fs::File::open(dir.path()).unwrap();
        let mut profile = failing(&[], &["/etc/localtime"]);
        profile.processes[0].shares_root = false;
        enrich(&mut profile, &Roots::new(vec![(ProcId(0), root.into())]).unwrap());
        let zone = profile.host.zone_of(ProcId(0), false).unwrap();
        assert_eq!(zone.how, "/etc/localtime is missing, so programs run in UTC");

        profile.host.other_zones.clear();
        enrich(&mut profile, &Roots::new(Vec::new()).unwrap());
        assert_eq!(profile.host.zone_of(ProcId(0), false), None, "its root was not opened");
    }
}
