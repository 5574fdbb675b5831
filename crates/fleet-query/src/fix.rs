//! `fix`: from the hosts where a cause is open to a play of Ansible. It has `needless fix` make the change on each: the
//! rows hold no value of a variable, each host knows where its services get theirs, and its journal has the change, so
//! that `needless undo` takes it back and the rows say from then on that it was applied.

use crate::Fault;
use crate::questions::QUESTIONS;
use clap::ArgMatches;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use needless_fleet::HASH_OF_MACHINE_ID;
use std::collections::{BTreeMap, BTreeSet};

/// The question that says which findings are open.
pub(crate) const STATES: &str = "states";

/// That question for the cause and the service that the command line names.
pub(crate) fn states_of(words: &ArgMatches) -> String {
    let sql = QUESTIONS.iter().find(|question| question.name == STATES).map_or("", |one| one.sql);
    let only = ["cause", "service"].iter().filter_map(|column| {
        let value = words.get_one::<String>(column)?;
        Some(format!("{column} = '{}'", value.replace('\'', "''")))
    });
    let only: Vec<String> = only.collect();
    if only.is_empty() {
        return sql.to_owned();
    }
    let inner = sql.trim_end().trim_end_matches(';');
    format!(
        "SELECT * FROM ({inner}) AS states WHERE {} ORDER BY cause, state, host, service, program, variable NULLS LAST;\n",
        only.join(" AND ")
    )
}

/// `VARIABLE=VALUE` of `--set`.
///
/// # Errors
/// When it is none.
pub(crate) fn change(text: &str) -> Result<String, &'static str> {
    let is_name = |name: &str| {
        name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
            && name.bytes().next().is_some_and(|b| !b.is_ascii_digit())
    };
    match text.split_once('=') {
        Some((name, _)) if is_name(name) => Ok(text.to_owned()),
        _ => Err("expected VARIABLE=VALUE, such as TZ=UTC"),
    }
}

/// The play for the open findings of an answer: one for each service.
///
/// # Errors
/// When no finding is open, or the services of none are units.
pub(crate) fn play(answer: &[RecordBatch], words: &ArgMatches) -> Result<String, Fault> {
    let broken = |error| Fault::new("answer", error, "report this as a bug of needless-fleet");
    let cause = words.get_one::<String>("cause").map_or("", String::as_str);
    let Findings { open, left, variables } = Findings::of(answer).map_err(broken)?;
    if !left.is_empty() {
        let three = left.iter().take(3).map(|(host, service)| format!("{service} on {host}"));
        eprintln!(
            "needless-fleet: left out, since no unit of the system has that name: {}{}; needless fix on the host finds its place",
            three.collect::<Vec<_>>().join(", "),
            if left.len() > 3 { " and others" } else { "" }
        );
    }
    if open.is_empty() {
        let to_do = "needless-fleet states --cause CAUSE DIR shows the state on each host";
        return Err(Fault::new(cause, "it is open in no unit of these hosts", to_do));
    }
    let set = words.get_one::<String>("set");
    let variable = set.and_then(|set| set.split_once('=')).map(|(name, _)| name);
    if let Some(name) = variable.filter(|name| !variables.contains(*name)) {
        let all: Vec<_> = variables.into_iter().collect();
        let to_do = match &*all.join(", ") {
            "" => "leave --set out: needless fix looks for the change on each host".to_owned(),
            all => format!("the variable is {all}"),
        };
        return Err(Fault::new(format!("--set {name}"), format!("it does not fix {cause}"), to_do));
    }
    let mut change =
        vec![set.map_or_else(|| format!("--rule={cause}"), |set| format!("--set={set}"))];
    change.extend(words.get_flag("restart").then(|| "--restart".to_owned()));
    let hosts = open.values().flatten().collect::<BTreeSet<_>>().len();
    let mut text = format!(
        "# {cause} on {hosts} hosts. When it has run, and the services were restarted, this shows what became of it:\n\
         # needless-fleet states --cause {cause} --since 1h DIR\n"
    );
    for (service, hosts) in &open {
        text += &of_service(cause, service, hosts, &change);
    }
    Ok(text)
}

/// The play that makes a change where this service runs.
fn of_service(cause: &str, service: &str, hosts: &BTreeSet<String>, change: &[String]) -> String {
    let unit = format!("--unit={service}");
    let change = change.iter().map(String::as_str);
    let argv = ["needless", "fix", &unit].into_iter().chain(change).chain(["--yes"]);
    format!(
        "- name: {name}
  hosts: all # those whose name, or hash of the machine id, is among needless_hosts
  become: true
  gather_facts: false
  vars:
    needless_hosts: {hosts}
  tasks:
    - name: The hash of the machine id
      ansible.builtin.command:
        argv: {hash}
      register: needless_hash
      changed_when: false
      failed_when: false
      check_mode: false
    - name: needless fix
      ansible.builtin.command:
        argv: {argv}
      register: needless_fix
      changed_when: \"'written: change' in needless_fix.stdout\"
      when: inventory_hostname in needless_hosts or needless_hash.stdout | default('') in needless_hosts
",
        name = quoted(&format!("{cause} in {service}")),
        hosts = list(hosts.iter().map(String::as_str)),
        hash = list(HASH_OF_MACHINE_ID),
        argv = list(argv),
    )
}

/// What an answer says of open findings.
#[derive(Default)]
struct Findings {
    /// The hosts of each service.
    open: BTreeMap<String, BTreeSet<String>>,
    /// Host and service, where no unit of the system has that name.
    left: BTreeSet<(String, String)>,
    variables: BTreeSet<String>,
}

impl Findings {
    fn of(answer: &[RecordBatch]) -> Result<Findings, ArrowError> {
        let mut all = Findings::default();
        let open = rows(answer)?.into_iter().filter(|[state, ..]| state == "open");
        for [_, host, service, variable] in open {
            all.variables.extend(Some(variable).filter(|name| !name.is_empty()));
            if is_unit(&service) && is_name(&host) {
                all.open.entry(service).or_default().insert(host);
            } else {
                all.left.insert((host, service));
            }
        }
        Ok(all)
    }
}

/// Of each row the state, the host, the service and the variable.
fn rows(answer: &[RecordBatch]) -> Result<Vec<[String; 4]>, ArrowError> {
    let (options, mut all) = (FormatOptions::default(), Vec::new());
    for batch in answer {
        let of = |name: &str| {
            let column = batch.column_by_name(name);
            let column = column.ok_or_else(|| ArrowError::SchemaError(format!("no {name}")))?;
            ArrayFormatter::try_new(column, &options)
        };
        let (state, host, service) = (of("state")?, of("host")?, of("service")?);
        let variable = of("variable")?;
        for n in 0..batch.num_rows() {
            let text = |of: &ArrayFormatter<'_>| of.value(n).try_to_string();
            all.push([text(&state)?, text(&host)?, text(&service)?, text(&variable)?]);
        }
    }
    Ok(all)
}

/// Whether it is a name as `--host` takes one: nothing in it means anything to Ansible.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
}

/// Whether it is a service of the system's own systemd: systemd.unit(5).
fn is_unit(text: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"._-:@\\".contains(&b);
    text.ends_with(".service") && text.bytes().all(fits)
}

/// A list of YAML.
fn list<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    format!("[{}]", texts.into_iter().map(quoted).collect::<Vec<_>>().join(", "))
}

/// A text of YAML that Ansible takes as it is: `{{` would begin a template.
fn quoted(text: &str) -> String {
    let mut out = String::from(if text.contains('{') { "!unsafe \"" } else { "\"" });
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out += &format!("\\U{:08X}", u32::from(c)),
            c => out.push(c),
        }
    }
    out + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_no_template_and_ends_no_text() {
        assert_eq!(quoted("TZ={{ x }}\"\n"), r#"!unsafe "TZ={{ x }}\"\U0000000A""#);
        assert!(
            is_unit("a@b-c.service") && !is_unit("user@1000 a.service") && !is_unit("a\".service")
        );
        assert!(is_name("web-1.example") && !is_name("a b") && !is_name("{{"));
    }
}
