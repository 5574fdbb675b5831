//! A play of Ansible: the file that is made, or the line of a file, and the handlers that make it take effect.
//! Only modules of ansible-core.

use super::{SnippetFormat, SnippetQuery, one_line};
use crate::activation::Activation;
use crate::disk::managed_by;
use crate::error::EnvironmentError;
use crate::journal::FileChange;
use crate::places::yaml::quoted;
use crate::places::{NOTE, bare, lines};
use crate::shown_diff::{Showable, is_shown};
use std::path::Path;

/// A play.
pub(super) static ANSIBLE: SnippetFormat =
    SnippetFormat { name: "ansible", between: "", of_image: false, write };

/// A task or handler: its name, its module, and the arguments of that, each a text of YAML.
struct Task {
    name: String,
    module: &'static str,
    arguments: Vec<(&'static str, String)>,
}

fn write(query: &SnippetQuery<'_>) -> Result<String, EnvironmentError> {
    let format = query.change.location.place;
    if format.is_of_image() {
        let name = format.name;
        return Err(format!(
            "a {name} makes what runs elsewhere: --format dockerfile or kustomize"
        )
        .into());
    }
    let plan = query.plan()?;
    if plan.files.is_empty() {
        return Ok(String::new());
    }
    let mut tasks = Vec::new();
    for file in &plan.files {
        tasks.extend(tasks_of(query, file)?);
    }
    let handlers = handlers(query);
    let mut out =
        format!("# {}\n# {}: {}\n", query.headline(), one_line(&plan.place), one_line(&plan.why));
    out += &format!("# In effect: {}\n", plan.effect);
    if !query.restart && plan.activation.is_known() {
        out += &format!(
            "# Restart: {} (--restart adds a handler for it)\n",
            one_line(&plan.activation.to_string())
        );
    }
    let made = plan.files.iter().filter_map(|file| file.before.as_deref()).find_map(managed_by);
    if let Some(tool) = made {
        out +=
            &format!("# {tool} makes that file already: put the line into its template instead.\n");
    }
    out += &format!("- name: {}\n", scalar(&format!("{} in {}", plan.variable, plan.place)));
    out += "  hosts: localhost # the hosts that it is for\n";
    let of_user = |file: &FileChange| ["/home/", "/.config/"].iter().any(|d| file.path.contains(d));
    if !plan.files.iter().any(of_user) {
        out += "  become: true\n";
    }
    out += "  tasks:\n";
    for task in &tasks {
        out += &written(task);
        // A directory alone changes nothing.
        if task.module != DIRECTORY && !handlers.is_empty() {
            out += "      notify:\n";
            handlers
                .iter()
                .for_each(|handler| out += &format!("        - {}\n", scalar(&handler.name)));
        }
    }
    if !handlers.is_empty() {
        out += "  handlers:\n";
        handlers.iter().for_each(|handler| out += &written(handler));
    }
    Ok(out)
}

fn written(task: &Task) -> String {
    let mut out = format!("    - name: {}\n      {}:\n", scalar(&task.name), task.module);
    for (name, value) in &task.arguments {
        out += &format!("        {name}: {value}\n");
    }
    out
}

const DIRECTORY: &str = "ansible.builtin.file";

/// What makes the file as the plan has it.
fn tasks_of(query: &SnippetQuery<'_>, file: &FileChange) -> Result<Vec<Task>, EnvironmentError> {
    let text = |bytes: &Option<Vec<u8>>| String::from_utf8(bytes.clone().unwrap_or_default());
    let (Ok(before), Ok(after)) = (text(&file.before), text(&file.after)) else {
        return Err(format!("{}: not text", file.path).into());
    };
    if file.about.link || before.contains('\r') {
        return Err(format!("{}: Ansible would not keep its line ends", file.path).into());
    }
    let after = without_note(&after, &before);
    // A drop-in of ours is all ours: other hosts may not have it yet.
    let name = file.path.rsplit('/').next().unwrap_or_default();
    if file.before.is_none() || name.contains("zz-needless") {
        let of_before: Vec<String> = before.lines().map(str::to_owned).collect();
        let old = after.lines().filter(|line| of_before.iter().any(|known| known == line));
        may_print(query, &file.path, &before, old)?;
        return Ok(new_file(query, file, &after));
    }
    let line = changed_line(&before, &after, &query.change.variable).ok_or_else(|| {
        format!("{}: more changes there than one line: --diff prints it", file.path)
    })?;
    let printed = line.line.iter().chain(&line.keys).map(String::as_str);
    may_print(query, &file.path, &before, printed)?;
    let mut arguments = vec![("path", scalar(&file.path))];
    if !line.keys.is_empty() {
        let keys: Vec<String> = line.keys.iter().map(|key| escaped(key)).collect();
        let any = if let [one] = &keys[..] { one.clone() } else { format!("({})", keys.join("|")) };
        arguments.push(("regexp", unsafe_scalar(&format!("^{any}"))));
    }
    match &line.line {
        Some(line) => arguments.push(("line", unsafe_scalar(line))),
        None => arguments.push(("state", "absent".into())),
    }
    match &line.place {
        Place::AtEnd | Place::There => {}
        Place::AtBegin => arguments.push(("insertbefore", "BOF".into())),
        Place::Before(word) => {
            arguments.push(("insertbefore", unsafe_scalar(&format!("^{}", escaped(word)))));
            arguments.push(("firstmatch", "true".into()));
        }
        Place::Behind(header) => {
            arguments.push(("insertafter", unsafe_scalar(&format!("^{}$", escaped(header)))));
        }
    }
    let name = format!("{} in {}", query.change.variable, file.path);
    Ok(vec![Task { name, module: "ansible.builtin.lineinfile", arguments }])
}

/// Refuses to print lines of a file that have more in them than the variable.
fn may_print<'t>(
    query: &SnippetQuery<'_>,
    path: &str,
    before: &str,
    mut printed: impl Iterator<Item = &'t str>,
) -> Result<(), EnvironmentError> {
    let value: Vec<String> = query.change.value.iter().cloned().collect();
    let showable = Showable { variable: &query.change.variable, values: &value, new_file: true };
    let hidden = |text: &&str| !query.show_values && !is_shown(text, &showable);
    let Some(hidden) = printed.find(hidden) else { return Ok(()) };
    let at = before.lines().position(|line| line.starts_with(hidden));
    let at = at.map_or(String::new(), |at| format!(":{}", at + 1));
    let why =
        "there is other text in that line, which may be secret: pass --show-value to print it";
    Err(format!("{path}{at}: {why}").into())
}

fn new_file(query: &SnippetQuery<'_>, file: &FileChange, text: &str) -> Vec<Task> {
    let mut tasks = Vec::new();
    if let Some(dir) = Path::new(&file.path).parent().and_then(Path::to_str) {
        let arguments = vec![("path", scalar(dir)), ("state", "directory".into())];
        tasks.push(Task { name: format!("The directory {dir}"), module: DIRECTORY, arguments });
    }
    let arguments = vec![
        ("dest", scalar(&file.path)),
        ("content", unsafe_scalar(text)),
        ("mode", quoted(&format!("{:04o}", file.about.mode))),
    ];
    let name = format!("{} in {}", query.change.variable, file.path);
    tasks.push(Task { name, module: "ansible.builtin.copy", arguments });
    tasks
}

/// What has the change read again, and what restarts, if that is wanted.
fn handlers(query: &SnippetQuery<'_>) -> Vec<Task> {
    let location = &query.change.location;
    let all = [Some(location.place.reload), query.restart.then_some(&location.activation)];
    all.into_iter().flatten().filter(|one| one.is_known()).map(handler).collect()
}

/// The module that does it.
fn handler(activation: &Activation) -> Task {
    let words = activation.words();
    let of = |verb: &str, name: &str| {
        let arguments = vec![("name", scalar(name)), ("state", format!("{verb}ed"))];
        (format!("{verb} {name}"), arguments)
    };
    let systemd = "ansible.builtin.systemd";
    let (module, (name, mut arguments)) = match activation {
        Activation::DaemonReload { .. } => {
            (systemd, ("daemon-reload".to_owned(), vec![("daemon_reload", "true".to_owned())]))
        }
        Activation::Restart { unit, .. } => (systemd, of("restart", unit)),
        Activation::Reload { unit, try_or_restart: false } => (systemd, of("reload", unit)),
        Activation::InitScript { name, openrc: false } => {
            ("ansible.builtin.service", of("restart", name))
        }
        _ => {
            let argv: Vec<String> = words.iter().map(|word| unsafe_scalar(word)).collect();
            let arguments = vec![("argv", format!("[{}]", argv.join(", ")))];
            ("ansible.builtin.command", (words.join(" "), arguments))
        }
    };
    if activation.is_of_user() {
        arguments.insert(0, ("scope", "user".to_owned()));
    }
    Task { name, module, arguments }
}

/// The new text without the comment about `undo`, which takes nothing of Ansible's back.
fn without_note(after: &str, before: &str) -> String {
    if before.contains(NOTE) {
        return after.to_owned();
    }
    lines(after).into_iter().filter(|line| bare(line) != NOTE).collect()
}

/// The one line in which two texts differ.
struct ChangedLine {
    /// The new line; `None`: lines are removed.
    line: Option<String>,
    /// How the lines begin that it takes the place of, and only these.
    keys: Vec<String>,
    place: Place,
}

/// Where a new line goes. What it names there is a word or a header: no value.
enum Place {
    /// Where the old one is.
    There,
    AtEnd,
    AtBegin,
    /// Before the first line that begins so.
    Before(String),
    /// Behind the only line that is so.
    Behind(String),
}

/// The difference as `lineinfile` can make it; `None` where it cannot.
fn changed_line(before: &str, after: &str, variable: &str) -> Option<ChangedLine> {
    let of = |text: &str| text.lines().map(str::to_owned).collect::<Vec<String>>();
    let (old, new) = (of(before), of(after));
    let same = |pair: &(&String, &String)| pair.0 == pair.1;
    let begin = old.iter().zip(&new).take_while(same).count();
    let rest = old[begin..].iter().rev().zip(new[begin..].iter().rev());
    let end = rest.take_while(same).count();
    let (gone, come) = (&old[begin..old.len() - end], &new[begin..new.len() - end]);
    let mut keys: Vec<String> =
        gone.iter().chain(come).filter_map(|line| key(line, variable)).collect();
    keys.sort();
    keys.dedup();
    let fits = |line: &String| keys.iter().any(|key| line.starts_with(key.as_str()));
    // It must find the lines that go and no others, and later the new one.
    let finds =
        |all: &[String], some: &[String]| all.iter().filter(|line| fits(line)).eq(some.iter());
    let exact = finds(&old, gone) && finds(&new, come);
    match (gone, come) {
        ([_], [line]) if exact => {
            Some(ChangedLine { line: Some(line.clone()), keys, place: Place::There })
        }
        ([_, ..], []) if exact => Some(ChangedLine { line: None, keys, place: Place::There }),
        ([], [line]) => {
            let place = place(&old, begin)?;
            let keys = if exact { keys } else { Vec::new() };
            // Without a key, a line that is there already stays where it is.
            (exact || !old.contains(line)).then(|| ChangedLine {
                line: Some(line.clone()),
                keys,
                place,
            })
        }
        _ => None,
    }
}

/// Where a line goes that is to stand before the line `at` of a text.
fn place(all: &[String], at: usize) -> Option<Place> {
    if at == all.len() {
        return Some(Place::AtEnd);
    }
    if at == 0 {
        return Some(Place::AtBegin);
    }
    let header = &all[at - 1];
    let is_header = header.starts_with('[') && header.ends_with(']');
    if is_header && all.iter().filter(|line| *line == header).count() == 1 {
        return Some(Place::Behind(header.clone()));
    }
    let next = &all[at];
    let word = &next[..next.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(next.len())];
    let first = all.iter().position(|line| line.starts_with(word));
    (word.len() > 2 && first == Some(at)).then(|| Place::Before(word.to_owned()))
}

/// The beginning of a line up to the variable and the sign behind it: `export TZ=`, `env[TZ] = `.
fn key(line: &str, variable: &str) -> Option<String> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = line.match_indices(variable).map(|(at, found)| (at, at + found.len()));
    let (_, end) =
        found.find(|(at, end)| !line[..*at].ends_with(word) && !line[*end..].starts_with(word))?;
    let rest = &line[end..];
    let marks = rest.find(|c: char| !"]=\" \t".contains(c)).unwrap_or(rest.len());
    // Up to the first equals sign; the value may begin with a quote.
    let marks = rest[..marks].find('=').map_or(marks, |at| at + 1);
    Some(line[..end + marks].to_owned())
}

/// A text as a part of a regular expression of Python.
fn escaped(text: &str) -> String {
    let special = |c: char| c.is_ascii_punctuation() && !matches!(c, '_' | '/' | '=');
    text.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect()
}

/// A text as a scalar that Ansible takes as it is: `{{` would begin a template.
fn unsafe_scalar(text: &str) -> String {
    let template = ["{{", "{%", "{#"].iter().any(|begin| text.contains(begin));
    let tag = if template { "!unsafe " } else { "" };
    format!("{tag}{}", quoted(text).replace('\n', "\\n").replace('\t', "\\t"))
}

/// A name or path: plain where no reader of YAML takes it for anything else.
fn scalar(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._ @-".contains(c);
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    if begins && text.chars().all(plain) && text.len() > 5 {
        text.to_owned()
    } else {
        unsafe_scalar(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handler_for_each_activation() {
        let unit = || "a.service".to_owned();
        let of = |activation: Activation| written(&handler(&activation)).replace("        ", "");
        for (activation, task) in [
            (
                Activation::DaemonReload { user: true },
                "    - name: daemon-reload\n      ansible.builtin.systemd:\nscope: user\ndaemon_reload: true\n",
            ),
            (
                Activation::restart("a.service"),
                "    - name: restart a.service\n      ansible.builtin.systemd:\nname: a.service\nstate: restarted\n",
            ),
            (
                Activation::Reload { unit: unit(), try_or_restart: false },
                "    - name: reload a.service\n      ansible.builtin.systemd:\nname: a.service\nstate: reloaded\n",
            ),
            (
                Activation::InitScript { name: "webserver".to_owned(), openrc: false },
                "    - name: restart webserver\n      ansible.builtin.service:\nname: webserver\nstate: restarted\n",
            ),
        ] {
            assert_eq!(of(activation), task);
        }
        // No module does this: the whole command.
        let other = of(Activation::Reload { unit: unit(), try_or_restart: true });
        let words = ["systemctl", "try-reload-or-restart", "a.service"].map(unsafe_scalar);
        assert!(other.contains(&format!("argv: [{}]", words.join(", "))), "{other}");
    }
}
