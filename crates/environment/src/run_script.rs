//! Where a program of runit, s6 or daemontools gets its variables: the script `run` of its directory,
//! or the environment directory which that names.

use crate::belongs::ConfigLocation;
use crate::config_format;
use needless_host::Root;
use needless_model::Confidence;

/// The place for a program whose supervisor watches the directory `dir`.
pub(crate) fn spot(root: &Root, dir: Option<&str>, variable: &str) -> ConfigLocation {
    let Some(dir) = dir else {
        let why = "a supervisor of run scripts started it; its directory could not be read";
        return ConfigLocation::new(&config_format::WRAPPER, None, why, Confidence::Medium);
    };
    let run = format!("{dir}/run");
    let text = root.read(&run).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let restart = ["sv", "restart", dir];
    match env_dir(&text) {
        Some(Ok(named)) => {
            let env = match named.strip_prefix("./").unwrap_or(&named) {
                path if path.starts_with('/') => path.trim_end_matches('/').to_owned(),
                path => format!("{dir}/{}", path.trim_end_matches('/')),
            };
            let why = format!("{run} starts it with the variables of that directory");
            let spot = ConfigLocation::new(
                &config_format::ENVDIR,
                format!("{env}/{variable}"),
                why,
                Confidence::High,
            );
            if text.contains("chpst") { spot.restart(&restart) } else { spot }
        }
        Some(Err(why)) => {
            let why = format!("{run} starts it with the variables of a directory, {why}");
            ConfigLocation::new(&config_format::ENVDIR, None, why, Confidence::Medium)
        }
        None => {
            let why = format!("its supervisor runs {run}, which becomes the program");
            let shell = text.starts_with("#!/bin/sh");
            let confidence = if shell { Confidence::High } else { Confidence::Medium };
            ConfigLocation::new(&config_format::WRAPPER, run, why, confidence)
        }
    }
}

/// The directory after the last of `envdir`, `s6-envdir` and `chpst -e` in a script, if it can be told.
fn env_dir(text: &str) -> Option<Result<String, &'static str>> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let mut found = None;
    let mut moved = false;
    for line in lines {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        moved |= words.first() == Some(&"cd");
        for (at, word) in words.iter().enumerate() {
            let rest = &words[at + 1..];
            let dir = match word.rsplit('/').next() {
                Some("envdir") => rest.first().copied(),
                Some("s6-envdir") => rest.iter().find(|word| !word.starts_with('-')).copied(),
                Some("chpst") => of_chpst(rest),
                _ => continue,
            };
            let Some(dir) = dir else { continue };
            let dir = dir.trim_matches(['"', '\'']);
            found = Some(match dir {
                _ if dir.contains(['$', '`', '*', '"', '\'', '\\', '~']) => {
                    Err("which the script computes")
                }
                _ if moved && !dir.starts_with('/') => Err("below one that the script goes to"),
                _ => Ok(dir.to_owned()),
            });
        }
    }
    found
}

/// The argument of `-e` among the options of chpst(8).
fn of_chpst<'a>(words: &[&'a str]) -> Option<&'a str> {
    let mut words = words.iter();
    while let Some(option) = words.next().and_then(|word| word.strip_prefix('-')) {
        for (at, letter) in option.char_indices() {
            // Those that take an argument, which stands beside them or is the next word.
            if !"uUeb/CnlLmdofpcrt".contains(letter) {
                continue;
            }
            let beside = &option[at + letter.len_utf8()..];
            let argument = if beside.is_empty() { words.next()? } else { beside };
            if letter == 'e' {
                return Some(argument);
            }
            break;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_is_found() {
        let dir = |line: &str| env_dir(&format!("#!/bin/sh\nexec 2>&1\n{line}\n"));
        let is = |path: &str| Some(Ok(path.to_owned()));
        assert_eq!(dir("exec envdir /etc/x prog"), is("/etc/x"));
        assert_eq!(dir("exec chpst -v -u www -e ./env prog -e no"), is("./env"));
        assert_eq!(dir("exec chpst -vuwww -e./env prog"), is("./env"));
        assert_eq!(dir("exec chpst -u www prog -e no"), None);
        assert_eq!(dir("exec /usr/bin/s6-envdir -fn env prog"), is("env"));
        assert_eq!(dir("# exec envdir /etc/x prog"), None);
        assert!(dir("exec envdir \"$ENV\" prog").unwrap().is_err());
        assert!(dir("cd /srv\nexec envdir ./env prog").unwrap().is_err());
        assert!(dir("cd /srv\nexec envdir /env prog").unwrap().is_ok());
    }
}
