//! php-fpm's cache of resolved paths, in a file of its own in the directory of settings that this php-fpm reads at its
//! start. <https://www.php.net/manual/en/ini.core.php#ini.realpath-cache-size>

use super::{ChangedUnit, is_newer, newest, sees_ours, title, value_of_ours};
use crate::activation::{Activation, WorkerQuery};
use crate::error::EnvironmentError;
use crate::merge::ChangeRequest;
use crate::place::{DEFAULT, Destination, Place};
use crate::places::{Edit, FoundValue};
use crate::running::{main_process, property, run};
use needless_model::Confidence;

pub(super) const NAME: &str = "realpath_cache_size";
/// How long a resolved path is kept.
const TTL: &str = "realpath_cache_ttl";
const NOTE: &str = "; Written by needless.";
const FILE: &str = "zz-needless.ini";
/// Options that give it other settings than those of its files.
const OTHER: [&str; 6] = [" -c ", " --php-ini", " -n ", " --no-php-ini", " -d ", " --define"];
/// Four times PHP's own size, which is enough for 40,000 paths or so; and seconds.
const WANTED: (&str, &str) = ("16M", "600");

pub(super) static REALPATH_CACHE: Place = Place {
    name: "PHP settings",
    files: "/etc/php/VERSION/fpm/conf.d/zz-needless.ini",
    effect: "a reload of php-fpm, which starts its workers anew",
    find,
    put,
    // The whole file is ours, with both settings.
    compares_all: true,
    worker: Some(newest_worker),
    look: Some(|pid, _| {
        let file = Php::of(pid).ok()?.file;
        Some(is_newer(pid, &file)?.then_some(()).ok_or_else(|| "older settings".to_owned()))
    }),
    // Asked before the reload.
    refuses: |place, _, _| {
        let program = place.part.as_deref()?;
        run(&[program, "-t"]).err().map(|why| format!("php-fpm refuses it: {why}"))
    },
    ..DEFAULT
};

fn find(text: &str, name: &str, _: Option<&str>) -> Vec<FoundValue> {
    let value = |line: &str| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    };
    let lines = text.lines().enumerate();
    lines.filter_map(|(at, line)| Some(FoundValue::set(at, value(line)?))).collect()
}

fn put(text: &str, edit: &Edit<'_>) -> Result<String, EnvironmentError> {
    let value = value_of_ours(text, NOTE, edit)?;
    Ok(format!("{NOTE}\n{NAME} = {value}\n{TTL} = {}\n", WANTED.1))
}

/// The worker that was started last: a reload starts new ones.
fn newest_worker(of: &WorkerQuery<'_>) -> Option<u32> {
    newest(of, |title| title.starts_with("php-fpm: pool "))
}

/// A php-fpm, as it says itself what it would read now.
struct Php {
    /// Its name: "php-fpm8.2".
    program: String,
    /// Our file.
    file: String,
    /// What `-i` prints.
    says: String,
}

impl Php {
    /// That of a process.
    fn of(pid: u32) -> Result<Php, EnvironmentError> {
        let exe = std::fs::read_link(format!("/proc/{pid}/exe"));
        let program = exe.ok().and_then(|exe| Some(exe.file_name()?.to_str()?.to_owned()));
        let program = program
            .filter(|name| name.starts_with("php-fpm"))
            .ok_or("only the settings of php-fpm are set by a tool")?;
        let says = run(&[&program, "-i"])?;
        let dir = directive(&says, "Scan this dir for additional .ini files");
        let dir = dir.filter(|dir| dir.starts_with('/') && !dir.contains(':'));
        let dir = dir.ok_or("php-fpm reads no directory of settings: set it in its php.ini")?;
        let file = format!("{}/{FILE}", dir.trim_end_matches('/'));
        Ok(Php { program, file, says })
    }

    /// Why a larger cache would not help, or is not ours to make. `pools`: what `-tt` prints of all pools.
    fn refuses(&self, pools: &str) -> Result<(), EnvironmentError> {
        if let Some(dirs) = directive(&self.says, "open_basedir").filter(|dirs| *dirs != "no value")
        {
            return Err(format!(
                "open_basedir={dirs} turns the cache off, whatever its size: it is a security control, for a person to judge"
            )
            .into());
        }
        let own = |name: &&str| pools.contains(&format!("[{name}]"));
        if let Some(name) = ["open_basedir", NAME].iter().find(|name| own(name)) {
            return Err(format!("a pool of php-fpm sets {name} itself: change it there").into());
        }
        let size = directive(&self.says, NAME).unwrap_or_default();
        if bytes(size) > bytes(WANTED.0) {
            return Err(format!("{NAME} is {size} already").into());
        }
        Ok(())
    }
}

/// What `-i` prints of a setting: `NAME => LOCAL => MASTER`.
fn directive<'a>(says: &'a str, name: &str) -> Option<&'a str> {
    let mut words = says.lines().map(|line| line.split(" => "));
    words.find_map(|mut words| (words.next() == Some(name)).then(|| words.next()).flatten())
}

/// A size as PHP reads it, `16M`.
fn bytes(size: &str) -> u64 {
    let digits = size.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match size[digits.len()..].to_ascii_uppercase().as_str() {
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => 1,
    };
    digits.parse::<u64>().unwrap_or(0).saturating_mul(unit)
}

/// The file with the larger cache, for the php-fpm of the subject.
pub(super) fn change(of: &ChangedUnit) -> Result<ChangeRequest, EnvironmentError> {
    let (unit, user) = (&*of.name, of.user);
    let master = main_process(unit).filter(|_| !user);
    let master = master.filter(|pid| title(*pid).starts_with("php-fpm: master process"));
    let master = master.ok_or_else(|| {
        format!("{unit} runs no php-fpm now: raise {NAME} where its PHP reads its settings")
    })?;
    let words = std::fs::read(format!("/proc/{master}/environ")).unwrap_or_default();
    let by_variable = words.split(|b| *b == 0).any(|word| word.starts_with(b"PHP_INI_SCAN_DIR="));
    let command = property(unit, false, "ExecStart");
    if by_variable || OTHER.iter().any(|option| command.contains(option)) {
        return Err("php-fpm was started with other settings: set it there".into());
    }
    let php = Php::of(master)?;
    if !sees_ours(master, &php.file)? {
        return Err("php-fpm runs in a container or another root: set it in its image".into());
    }
    let Php { program, file, .. } = &php;
    // The title of the master names the configuration that it was given.
    let title = title(master);
    let config = title.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    let config: Vec<&str> = config.into_iter().flat_map(|config| ["-y", config]).collect();
    run(&[&[program, "-t"], &config[..]].concat())
        .map_err(|why| format!("its configuration is wrong now: {why}"))?;
    // It prints its pools where it prints errors.
    let both = ["sh", "-c", "exec \"$@\" 2>&1", "sh", program, "-tt"];
    php.refuses(&run(&[&both, &config[..]].concat())?)?;
    let why = format!("`{program} -i` says that it reads that directory at its start");
    let reload = Activation::Reload { unit: unit.to_owned(), try_or_restart: false };
    let location = Destination::new(&REALPATH_CACHE, file.clone(), why, Confidence::High)
        .part(program.clone())
        .activation(reload);
    let others =
        if file.contains("/fpm/") { "" } else { ", and every other PHP that reads that directory" };
    let caveats = vec![format!(
        "It reaches every pool of this php-fpm{others}: a directory or link that is replaced is seen up to {} s later. A worker may use up to {} for it.",
        WANTED.1, WANTED.0
    )];
    Ok(ChangeRequest {
        location,
        variable: NAME.to_owned(),
        value: Some(WANTED.0.to_owned()),
        rules: Vec::new(),
        times: Vec::new(),
        caveats,
        targets: vec![unit.to_owned()],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_larger_cache_does_not_help_it_is_not_made() {
        let php = |basedir: &str, size: &str| Php {
            program: "php-fpm".into(),
            file: "/x".into(),
            says: format!("open_basedir => {basedir} => {basedir}\n{NAME} => {size} => {size}\n"),
        };
        for (basedir, size, pools, why) in [
            ("no value", "4096K", "", None),
            ("no value", "16M", "", None),
            ("/srv", "4096K", "", Some("open_basedir=/srv turns the cache off")),
            (
                "no value",
                "4096K",
                "php_admin_value[open_basedir] = /a",
                Some("sets open_basedir itself"),
            ),
            (
                "no value",
                "4096K",
                "php_value[realpath_cache_size] = 1",
                Some("sets realpath_cache_size"),
            ),
            ("no value", "32M", "", Some("realpath_cache_size is 32M already")),
        ] {
            let said = php(basedir, size).refuses(pools).err().map(|why| why.to_string());
            let is = said.as_deref().zip(why).is_some_and(|(said, why)| said.contains(why));
            assert!(is || said.is_none() && why.is_none(), "{basedir} {size} {pools}: {said:?}");
        }
    }

    #[test]
    fn our_file_has_both_settings() {
        let edit = Edit { variable: NAME, value: Some("16M"), part: None };
        let text = put("", &edit).unwrap();
        assert_eq!(put(&text, &edit).unwrap(), text);
        assert_eq!(find(&text, NAME, None).len() + find(&text, TTL, None).len(), 2);
        assert!(put("memory_limit = 1G\n", &edit).is_err());
    }
}
