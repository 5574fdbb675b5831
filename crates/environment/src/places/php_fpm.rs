//! Pools of php-fpm: `env[NAME] = value`. With `clear_env`, which is the default, a worker has nothing
//! else.

use super::{Edit, FoundValue, NOTE, bare, lines, splice};
use crate::activation::{Activation, WorkerQuery};
use crate::error::EnvironmentError;
use crate::place::{DEFAULT, Destination, Place};
use crate::readers::ReadBy;
use crate::running::{main_process, run};
use crate::started_by::StartedBy;
use needless_host::{ProcInfo, Root, start_time};
use needless_model::Confidence;

/// A pool of php-fpm.
pub static PHP_FPM: Place = Place {
    name: "php-fpm pool",
    files: "/etc/php/VERSION/fpm/pool.d/NAME.conf",
    reaches: "the workers of the pool: with clear_env they have nothing else",
    read_by: ReadBy::Parts("pool"),
    effect: "a reload of php-fpm, which starts its workers anew",
    worker: Some(newest_worker),
    refuses: |place, _, _| refused(place),
    find,
    put,
    is_file: |path, _| path.below("/pool.d/") && path.ends(".conf"),
    locate: |query| match query.started_by {
        StartedBy::PhpFpm { pool } => {
            let config = query.chain.iter().rev().find_map(config_of);
            vec![pool_location(query.root, pool.as_deref().unwrap_or("www"), config)]
        }
        // Of the unit, its master has the variables: the pools are for the workers.
        StartedBy::Unit { .. } => query.process().map_or_else(Vec::new, |master| {
            let pools = cleared_pools(query.root, master).into_iter();
            pools.map(|(version, file, pool)| location_in(&version, file, &pool)).collect()
        }),
        _ => Vec::new(),
    },
    parts: |text| pools(text).into_iter().map(str::to_owned).collect(),
    has_parts: true,
    ..DEFAULT
};

/// Lines of the pool `part`, or of all pools, from 0.
fn entries(text: &str, part: Option<&str>) -> Vec<(usize, String, String)> {
    let mut entries = Vec::new();
    let mut pool = None;
    for (at, line) in lines(text).into_iter().enumerate() {
        let line = bare(line).trim();
        if let Some(name) = section(line) {
            pool = Some(name);
            continue;
        }
        if line.starts_with(';') || part.is_some_and(|part| pool != Some(part)) {
            continue;
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let key = key.trim();
        let Some(name) = key.strip_prefix("env[").and_then(|rest| rest.strip_suffix(']')) else {
            continue;
        };
        entries.push((at, name.to_owned(), unquoted(value.trim()).to_owned()));
    }
    entries
}

fn section(line: &str) -> Option<&str> {
    line.strip_prefix('[')?.strip_suffix(']').map(str::trim)
}

fn unquoted(value: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some((inner, _)) = value.strip_prefix(quote).and_then(|rest| rest.split_once(quote))
        {
            return inner;
        }
    }
    value.split(';').next().unwrap_or(value).trim_end()
}

/// The names of the pools of a file.
pub(crate) fn pools(text: &str) -> Vec<&str> {
    let named = text.lines().filter_map(|line| section(line.trim()));
    named.filter(|name| *name != "global").collect()
}

/// Where the pool sets `variable`; the last counts. `$X` is the master's variable X.
pub(crate) fn find(text: &str, variable: &str, part: Option<&str>) -> Vec<FoundValue> {
    let all = entries(text, part).into_iter().filter(|(_, name, _)| name == variable);
    all.map(|(at, _, value)| FoundValue {
        certain: !value.starts_with('$'),
        ..FoundValue::set(at, value)
    })
    .collect()
}

/// # Errors
/// When the value cannot be quoted, or there is no such pool.
pub(crate) fn put(text: &str, edit: &Edit<'_>) -> Result<String, EnvironmentError> {
    if edit.value.is_some_and(|v| v.starts_with('$') || v.contains(['"', '\\']) || v.contains("${"))
    {
        return Err("php-fpm would read that value differently: set it by hand".into());
    }
    let all = lines(text);
    let pool = |line: &str| match (section(bare(line).trim()), edit.part) {
        (Some(name), Some(part)) => name == part,
        (Some(name), None) => name != "global",
        _ => false,
    };
    let Some(head) = all.iter().position(|line| pool(line)) else {
        return Err(format!("the file has no pool [{}]", edit.part.unwrap_or("www")).into());
    };
    let mut found: Vec<usize> = entries(text, edit.part)
        .into_iter()
        .filter(|(_, name, _)| name == edit.variable)
        .map(|(at, ..)| at)
        .collect();
    let Some(value) = edit.value else {
        return Ok(found
            .iter()
            .rev()
            .fold(text.to_owned(), |out, at| splice(&out, *at, at + 1, &[])));
    };
    let line = format!("env[{}] = \"{value}\"", edit.variable);
    if let Some(at) = found.pop() {
        return Ok(splice(text, at, at + 1, &[line]));
    }
    let rest = all[head + 1..].iter().position(|line| section(bare(line).trim()).is_some());
    let mut at = rest.map_or(all.len(), |rest| head + 1 + rest);
    while at > head + 1 && bare(all[at - 1]).trim().is_empty() {
        at -= 1;
    }
    let note = NOTE.replacen('#', ";", 1);
    Ok(splice(text, at, at, &[note, line]))
}

/// The worker of the pool `part` that was started last: it has the pool's environment after a reload, in which the
/// master starts its program anew and with it all workers (php-fpm(8), SIGUSR2).
fn newest_worker(of: &WorkerQuery<'_>) -> Option<u32> {
    let title = format!("php-fpm: pool {}", of.part.unwrap_or("www"));
    let of_pool = |pid: &&u32| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).trim_end_matches(['\0', ' ']) == title
    };
    let workers = of.processes.iter().filter(of_pool);
    workers.copied().max_by_key(|pid| start_time(*pid))
}

/// The configuration that names the files of [`files`].
fn usual_config(version: &str) -> String {
    format!("/etc/php/{version}/fpm/php-fpm.conf")
}

/// The configuration of `master`, if it is a master of php-fpm: its title names it.
fn config_of(master: &ProcInfo) -> Option<&str> {
    config_in_title(master.argv.first()?)
}

fn config_in_title(title: &str) -> Option<&str> {
    title.trim_end_matches(['\0', ' ']).strip_prefix("php-fpm: master process (")?.strip_suffix(')')
}

/// The files of pools: the version of PHP, the path, the text.
fn files(root: &Root) -> Vec<(String, String, String)> {
    let mut files = Vec::new();
    for (version, _) in root.list("/etc/php").unwrap_or_default() {
        let dir = format!("/etc/php/{version}/fpm/pool.d");
        for (name, _) in root.list(&dir).unwrap_or_default() {
            let file = format!("{dir}/{name}");
            let Ok(text) = root.read(&file) else { continue };
            files.push((version.clone(), file, String::from_utf8_lossy(&text).into_owned()));
        }
    }
    files
}

/// The pools whose workers do not get what a master of php-fpm has: version, file and name of each.
fn cleared_pools(root: &Root, master: &ProcInfo) -> Vec<(String, String, String)> {
    let Some(version) = master.name().strip_prefix("php-fpm") else { return Vec::new() };
    if config_of(master).is_some_and(|config| config != usual_config(version)) {
        return Vec::new();
    }
    let clears = |text: &str| {
        let keeps = |line: &str| line.split_whitespace().collect::<String>() == "clear_env=no";
        !text.lines().any(keeps)
    };
    let all = files(root).into_iter().filter(|(of, _, text)| of == version && clears(text));
    let named = all.flat_map(|(version, file, text)| {
        let of = |pool: &str| (version.clone(), file.clone(), pool.to_owned());
        pools(&text).into_iter().map(of).collect::<Vec<_>>()
    });
    named.collect()
}

/// What is to be known of a change for `process`, if it is a master of php-fpm: which workers do not get it, and where
/// it belongs for these.
pub(crate) fn workers_without_it(root: &Root, process: &ProcInfo) -> Option<String> {
    let named = cleared_pools(root, process).into_iter();
    let named: Vec<String> =
        named.map(|(_, file, pool)| format!("--in {file} --part {pool}")).collect();
    (!named.is_empty()).then(|| {
        format!(
            "Its workers do not get it: php-fpm clears their environment (clear_env). For these: {}.",
            named.join(", ")
        )
    })
}

/// Why php-fpm cannot be reloaded: with a configuration that it refuses, a reload would end it.
fn refused(place: &Destination) -> Option<String> {
    let unit = place.activation.unit()?;
    let version = unit.strip_prefix("php")?.strip_suffix("-fpm.service")?;
    let program = format!("php-fpm{version}");
    let title =
        main_process(unit).and_then(|pid| std::fs::read(format!("/proc/{pid}/cmdline")).ok());
    let title = title.unwrap_or_default();
    let usual = usual_config(version);
    let title = String::from_utf8_lossy(&title);
    let config = config_in_title(&title).unwrap_or(&usual);
    if config != usual {
        return Some(other_config(config));
    }
    let why = run(&[&*program, "-t", "-y", config]).err()?;
    Some(format!("{program} refuses its configuration, so a reload would end it: {why}"))
}

fn other_config(config: &str) -> String {
    format!("php-fpm runs with {config}, and which files of pools that names is not known")
}

fn location_in(version: &str, file: String, pool: &str) -> Destination {
    let unit = format!("php{version}-fpm.service");
    Destination::new(
        &PHP_FPM,
        file,
        "php-fpm clears the environment of its workers (clear_env): only the pool's own lines reach them",
        Confidence::High,
    )
    .part(pool)
    .activation(Activation::Reload { unit, try_or_restart: true })
}

/// `config`: what the master was started with, where that is known.
fn pool_location(root: &Root, pool: &str, config: Option<&str>) -> Destination {
    let all = files(root);
    let reads = |version: &str| config.is_none_or(|config| config == usual_config(version));
    let has = |text: &str| pools(text).contains(&pool);
    let found = all.iter().find(|(version, _, text)| reads(version) && has(text));
    if let Some((version, file, _)) = found {
        return location_in(version, file.clone(), pool);
    }
    let other = config.filter(|_| !all.iter().any(|(version, ..)| reads(version)));
    let why =
        other.map_or_else(|| format!("the file of the pool {pool} was not found"), other_config);
    let why = format!("{why}: needless fix --in FILE --part {pool}");
    Destination::new(&PHP_FPM, None, why, Confidence::Medium)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two versions have a pool www; a master that was started with a file of its own may read neither.
    #[test]
    fn the_file_of_a_pool_is_one_of_its_master() {
        let folder = tempfile::tempdir().unwrap();
        for version in ["8.2", "8.4"] {
            let dir = folder.path().join(format!("etc/php/{version}/fpm/pool.d"));
            std::fs::create_dir_all(&dir).unwrap();
            std::fs::write(dir.join("www.conf"), "[www]\nuser = www-data\n").unwrap();
        }
        let root = Root::of(std::fs::File::open(folder.path()).unwrap().into());
        let at = |title: &str| pool_location(&root, "www", config_in_title(title));
        for version in ["8.2", "8.4"] {
            let title =
                format!("php-fpm: master process (/etc/php/{version}/fpm/php-fpm.conf)  \0");
            let file = format!("/etc/php/{version}/fpm/pool.d/www.conf");
            assert_eq!(at(&title).file, Some(file));
        }
        let other = at("php-fpm: master process (/etc/alt/fpm.conf)");
        assert_eq!((other.file, other.confidence), (None, Confidence::Medium));
        let why = "php-fpm runs with /etc/alt/fpm.conf, and which files of pools that names is not known: \
                   needless fix --in FILE --part www";
        assert_eq!((&*other.why, other.activation.is_known()), (why, false));
        assert!(at("php-fpm: pool www").file.is_some());
    }
}
