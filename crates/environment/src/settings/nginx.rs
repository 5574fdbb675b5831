//! nginx's cache of open files, in a file of its own below conf.d, where nginx.conf includes that directory.
//! <https://nginx.org/en/docs/http/ngx_http_core_module.html#open_file_cache>

use super::{ChangedUnit, is_newer, newest, sees_ours, title, value_of_ours};
use crate::activation::{Activation, WorkerQuery};
use crate::error::EnvironmentError;
use crate::merge::ChangeRequest;
use crate::place::{DEFAULT, Destination, Place};
use crate::places::{Edit, FoundValue, NOTE};
use crate::running::{main_process, processes_of_unit, run};
use needless_host::open_files;
use needless_model::Confidence;
use std::mem::take;

const FILE: &str = "/etc/nginx/conf.d/zz-needless.conf";
pub(super) const NAME: &str = "open_file_cache";
/// What nginx.conf has to include, as Debian's, Red Hat's and nginx.org's do.
const INCLUDED: [&str; 2] = ["/etc/nginx/conf.d/*.conf", "conf.d/*.conf"];
/// How long an old file may be served, and for how long a file that nobody asks for is kept.
const VALID: &str = "30s";
const INACTIVE: &str = "60s";

pub(super) static OPEN_FILE_CACHE: Place = Place {
    name: "nginx configuration",
    files: FILE,
    effect: "a reload of nginx, which starts its workers anew",
    find,
    put,
    worker: Some(newest_worker),
    look: Some(|pid, _| {
        Some(is_newer(pid, FILE)?.then_some(()).ok_or_else(|| "older files".to_owned()))
    }),
    // Asked before the reload.
    refuses: |_, _, _| {
        run(&["nginx", "-t", "-q"]).err().map(|why| format!("nginx refuses it: {why}"))
    },
    ..DEFAULT
};

fn find(text: &str, name: &str, _: Option<&str>) -> Vec<FoundValue> {
    if name != NAME {
        return Vec::new();
    }
    let value = |line: &str| {
        Some(line.strip_prefix(NAME)?.strip_prefix(' ')?.strip_suffix(';')?.to_owned())
    };
    let lines = text.lines().enumerate();
    lines.filter_map(|(at, line)| Some(FoundValue::set(at, value(line)?))).collect()
}

fn put(text: &str, edit: &Edit<'_>) -> Result<String, EnvironmentError> {
    let value = value_of_ours(text, NOTE, edit)?;
    Ok(format!("{NOTE}\n{NAME} {value};\n{NAME}_valid {VALID};\n{NAME}_errors on;\n"))
}

/// The worker that was started last: a reload starts new ones, and the old ones end with their last request.
fn newest_worker(of: &WorkerQuery<'_>) -> Option<u32> {
    newest(of, |title| title == "nginx: worker process")
}

/// The file with the cache, for the nginx of the subject.
pub(super) fn change(of: &ChangedUnit) -> Result<ChangeRequest, EnvironmentError> {
    let (unit, user) = (&*of.name, of.user);
    let master = main_process(unit).filter(|_| !user).map(|pid| (pid, title(pid)));
    let (pid, title) = master
        .filter(|(_, title)| title.starts_with("nginx: master process"))
        .ok_or_else(|| format!("{unit} does not run nginx now"))?;
    if [" -c ", " -p "].iter().any(|option| title.contains(option)) {
        return Err("nginx was started with another configuration: set it there".into());
    }
    if !sees_ours(pid, FILE)? {
        return Err("nginx runs in a container or another root: set it in its image".into());
    }
    let dump =
        run(&["nginx", "-T"]).map_err(|why| format!("its configuration is wrong now: {why}"))?;
    read(&dump)?;
    let processes = processes_of_unit(unit);
    let query = WorkerQuery { processes: &processes, file: FILE, part: None };
    // Each file in the cache keeps a descriptor: most of them are for connections.
    let limit = newest_worker(&query).and_then(open_files).unwrap_or(1024);
    let most = (limit / 8).clamp(32, 1000);
    let why = "nginx.conf includes the files of that directory for all sites (http)";
    let location = Destination::new(&OPEN_FILE_CACHE, FILE.to_owned(), why, Confidence::High)
        .activation(Activation::Reload { unit: unit.to_owned(), try_or_restart: false });
    let caveats = vec![format!(
        "It reaches every site of this nginx: a file that is changed, made or deleted is seen up to {VALID} later. Up to {most} files stay open in each worker, of {limit} descriptors."
    )];
    Ok(ChangeRequest {
        location,
        variable: NAME.to_owned(),
        value: Some(format!("max={most} inactive={INACTIVE}")),
        rules: Vec::new(),
        times: Vec::new(),
        caveats,
        targets: vec![unit.to_owned()],
    })
}

/// Looks whether the configuration, as `nginx -T` prints it, includes our file and sets no such cache itself.
fn read(dump: &str) -> Result<(), EnvironmentError> {
    const HEAD: &str = "# configuration file ";
    let mut is_included = false;
    for (at, file) in dump.split(HEAD).skip(1).enumerate() {
        let (path, text) = file.split_once(":\n").unwrap_or((file, ""));
        for (blocks, words) in directives(text) {
            let name = words.first().map(String::as_str).unwrap_or_default();
            if name.starts_with(NAME) && path != FILE {
                return Err(format!("{path} sets {name} already: change it there").into());
            }
            let included = words.get(1).is_some_and(|pattern| INCLUDED.contains(&&**pattern));
            is_included |= at == 0 && blocks == ["http"] && name == "include" && included;
        }
    }
    if is_included {
        return Ok(());
    }
    Err(format!("nginx.conf does not include {} in its http block: set {NAME} there", INCLUDED[0])
        .into())
}

/// The directives of a text that end with `;`: the blocks around each, and its words.
fn directives(text: &str) -> Vec<(Vec<String>, Vec<String>)> {
    let (mut found, mut blocks) = (Vec::new(), Vec::new());
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (_, '\\') => word.extend(chars.next()),
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.push(c),
            (None, '#') if word.is_empty() => drop(chars.by_ref().find(|c| *c == '\n')),
            (None, '"' | '\'') if word.is_empty() => quote = Some(c),
            (None, '{') if word.ends_with('$') => {
                word.extend(chars.by_ref().take_while(|c| *c != '}'))
            }
            (None, c) if !c.is_whitespace() && !matches!(c, '{' | '}' | ';') => word.push(c),
            (None, c) => {
                words.extend(Some(take(&mut word)).filter(|word| !word.is_empty()));
                match c {
                    ';' => found.push((blocks.clone(), take(&mut words))),
                    '{' => blocks.push(take(&mut words).into_iter().next().unwrap_or_default()),
                    '}' => drop(blocks.pop()),
                    _ => {}
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_included_for_all_sites_or_not_at_all() {
        let dump = |http: &str, more: &str| {
            format!(
                "# configuration file /etc/nginx/nginx.conf:\nuser www-data;\nhttp {{\n{http}\n}}\n\n# configuration file /etc/nginx/x:\n{more}\n"
            )
        };
        let include =
            "log_format main '$remote_addr {' \"a;b\"; # }\n include /etc/nginx/conf.d/*.conf;";
        assert_eq!(read(&dump(include, "server { listen 80; root /srv/${host}; }")), Ok(()));
        assert_eq!(read(&dump("include conf.d/*.conf;", "")), Ok(()));
        for (http, more, why) in [
            ("# include /etc/nginx/conf.d/*.conf;", "", "does not include"),
            ("server { include /etc/nginx/conf.d/*.conf; }", "", "does not include"),
            (
                include,
                "server { open_file_cache off; }",
                "/etc/nginx/x sets open_file_cache already",
            ),
            (include, "open_file_cache_errors on;", "sets open_file_cache_errors already"),
        ] {
            let said = read(&dump(http, more)).unwrap_err().to_string();
            assert!(said.contains(why), "{http} {more}: {said}");
        }
    }

    #[test]
    fn our_file_has_all_three_lines_and_no_other_is_touched() {
        let edit = |value| Edit { variable: NAME, value: Some(value), part: None };
        let once = put("", &edit("max=128 inactive=60s")).unwrap();
        assert_eq!(find(&once, NAME, None), [FoundValue::set(1, "max=128 inactive=60s")]);
        assert_eq!(directives(&once).len(), 3);
        assert_eq!(put(&once, &edit("max=1 inactive=1s")).unwrap().lines().count(), 4);
        assert!(put("server {}\n", &edit("max=1")).is_err());
    }
}
