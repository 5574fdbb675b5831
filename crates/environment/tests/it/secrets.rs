//! No secret of a file reaches the screen or the list of changes, in whatever way it is written there.

use needless_environment::{
    Activation, Destination, Disk, Journal, Request, Subject, merged, place_of_file, plan, resolve,
};
use needless_fixtures::thorough;
use needless_model::Confidence;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// Parts of every secret in this file. None may be seen.
const SECRETS: [&str; 3] = ["Zq8hunter", "kR4tail", "493817"];

/// Ways to write a secret beside a change. `{V}`: a line that sets the variable; without it, it is set above and below.
const SHAPES: [&str; 38] = [
    "PASSWORD=Zq8hunter",
    "X='Zq8hunter\nkR4tail'",
    "X=\"Zq8hunter\n{V}\nkR4tail\"",
    "X=Zq8hunter\\\nkR4tail",
    "run --password Zq8hunter",
    "run --password \\\n  Zq8hunter",
    "run --token=Zq8hunter --pin=493817",
    "curl -u me:Zq8hunter https://host/",
    "curl -H 'Authorization: Bearer Zq8hunter.kR4tail' https://host",
    "curl -H \"X-Key: Zq8hunter\" \\\n     -d 'kR4tail' https://host",
    "{V} run -pZq8hunter",
    "{V}; mysql -pZq8hunter",
    "{V} # key Zq8hunter",
    "# {V} Zq8hunter",
    "URL=postgres://me:Zq8hunter@host/db",
    "https://me:Zq8hunter@host/{V}",
    "-----BEGIN PRIVATE KEY-----\nZq8hunterkR4tail/+==\n-----END PRIVATE KEY-----",
    "KEYS=[\"Zq8hunter\", \"kR4tail\"]",
    "{\"keys\": [\"Zq8hunter\",\n  \"kR4tail\"], \"pin\": 493817}",
    "Environment=\"A=Zq8hunter\" \"TZ=UTC\" B=kR4tail",
    "Environment=A=Zq8hunter \\\n  TZ=UTC \\\n  B=kR4tail",
    "environment=A=\"Zq8hunter\",TZ=\"UTC\",B=\"kR4tail\"",
    "environment=A=\"Zq8hunter\",\n  TZ=\"UTC\",\n  B=\"kR4tail\"",
    "TZ='UTC Zq8hunter'",
    "TZ=\"$(curl -u me:Zq8hunter host)\"",
    "export TZ=UTC PASSWORD=Zq8hunter",
    "ENV A=Zq8hunter TZ=UTC B=kR4tail",
    "SetEnv A=Zq8hunter TZ=UTC B=kR4tail",
    "SetEnv TZ \"UTC\" Zq8hunter",
    "env[A] = Zq8hunter",
    "PIN=493817",
    "[Zq8hunter]",
    "name: Zq8hunter",
    "value: 493817",
    "\tZq8hunter\t{V}",
    "Zq8hunter={V}",
    "{V}Zq8hunter",
    "cat <<EOF\nZq8hunter\n{V}\nEOF",
];

/// Ways to write one in YAML, below `environment:` of a service or `env:` of a container.
const YAML: [(&str, &str); 14] = [
    ("A: Zq8hunter", "- name: A\nvalue: Zq8hunter"),
    ("A: |\n  Zq8hunter\n  TZ: kR4tail", "- name: A\nvalue: |\n  Zq8hunter\n  TZ=kR4tail"),
    ("A: >-\n  Zq8hunter\n  kR4tail", "- name: A\nvalue: >-\n  Zq8hunter\n  kR4tail"),
    ("A: \"Zq8hunter\n  kR4tail\"", "- name: A\nvalue: \"Zq8hunter\n  kR4tail\""),
    ("PIN: 493817", "- value: \"493817\"\nname: PIN"),
    ("A: [Zq8hunter, kR4tail]", "- value: Zq8hunter\nname: A"),
    ("A: {b: Zq8hunter}", "- {name: A, value: Zq8hunter}"),
    ("TZ: UTC # Zq8hunter", "- name: TZ # Zq8hunter\nvalue: UTC # kR4tail"),
    ("TZ: \"Zq8hunter kR4tail\"", "- name: TZ\nvalue: \"Zq8hunter kR4tail\""),
    ("URL: https://me:Zq8hunter@h/", "- name: URL\nvalue: https://me:Zq8hunter@h/"),
    ("A: '{\"k\": \"Zq8hunter\"}'", "- name: A\nvalue: '{\"k\": \"Zq8hunter\"}'"),
    ("\"Zq8hunter\": TZ", "- name: Zq8hunter\nvalue: TZ"),
    ("TZ: UTC\nA: 493817", "- name: TZ\nvalue: UTC\n- name: PIN\nvalue: 493817"),
    ("A: 493817\nTZ: UTC", "- name: PIN\nvalue: 493817\n- name: TZ\nvalue: UTC"),
];

/// Files with a line that sets the variable in the place, and text around; `{}` is where a shape goes.
const FILES: [(&str, &str, &str); 14] = [
    ("etc/environment", "TZ=UTC", "{}"),
    ("etc/default/web", "export TZ=UTC", "{}"),
    ("etc/profile.d/x.sh", "export TZ=UTC", "{}"),
    ("etc/environment.d/x.conf", "TZ=UTC", "{}"),
    ("etc/crontab", "TZ=UTC", "{}\n5 0 * * * root job -pZq8hunter"),
    ("etc/sudoers.d/x", "Defaults env_keep += \"TZ\"", "{}"),
    ("etc/ssh/sshd_config", "SetEnv TZ=UTC", "{}"),
    (
        "etc/supervisor/conf.d/x.conf",
        "environment=TZ=\"UTC\"",
        "[program:web]\ncommand=x -pZq8hunter\n{}",
    ),
    ("etc/php/fpm/pool.d/x.conf", "env[TZ] = UTC", "[www]\n{}"),
    ("etc/postgresql/16/main/environment", "TZ = 'UTC'", "{}"),
    ("etc/apache2/envvars", "export TZ=UTC", "{}"),
    ("srv/Dockerfile", "ENV TZ=UTC", "FROM x\n{}"),
    ("etc/systemd/system/x.service.d/a.conf", "Environment=TZ=UTC", "[Service]\n{}"),
    ("srv/run", "export TZ=UTC", "#!/bin/sh\n{}\nexec prog --password Zq8hunter"),
];

fn indented(text: &str, pad: &str) -> String {
    text.split('\n').fold(String::new(), |all, line| {
        let pad = if line.starts_with("- ") { &pad[2..] } else { pad };
        format!("{all}{pad}{line}\n")
    })
}

/// Every file of the product of formats and shapes.
fn files() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for (path, sets, around) in FILES {
        for shape in SHAPES {
            let shape = shape.replace("{V}", sets);
            for text in [shape.clone(), format!("{shape}\n{sets}\n{shape}")] {
                all.push((path.to_owned(), around.replace("{}", &text) + "\n"));
            }
        }
    }
    for (compose, kubernetes) in YAML {
        for (before, after) in [("", ""), ("TZ: Etc/UTC\n", ""), ("", "\nTZ: Etc/UTC")] {
            let own = indented(&format!("{before}{compose}{after}"), "      ");
            all.push((
                "srv/compose.yaml".into(),
                format!("services:\n  web:\n    image: x\n    environment:\n{own}"),
            ));
        }
        for (before, after) in
            [("", ""), ("- name: TZ\nvalue: Etc/UTC\n", ""), ("", "\n- name: TZ\nvalue: Etc/UTC")]
        {
            let own = indented(&format!("{before}{kubernetes}{after}"), "          ");
            all.push((
                "srv/pod.yaml".into(),
                format!("spec:\n      containers:\n      - name: web\n        image: x\n        env:\n{own}"),
            ));
        }
    }
    all
}

fn assert_none(shown: &str, of: &str) {
    for secret in SECRETS {
        assert!(!shown.contains(secret), "{secret} of\n{of}\nis in\n{shown}");
    }
}

#[test]
fn no_secret_is_shown() {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let root = folder.path().join("root");
    fs::create_dir(&root).unwrap();
    let disk = Disk::at(&root).unwrap();
    let (mut planned, mut named) = (0, 0);
    let mut files = files();
    // The variable itself may be the secret one.
    files.insert(
        0,
        ("etc/default/web".into(), "export API_KEY=Zq8hunter\nexport B=kR4tail\n".into()),
    );
    // No stride of the lists, so that each format has shapes, and each shape a place.
    let step = if thorough() { 1 } else { 5 };
    for (at, (path, text)) in files.into_iter().enumerate().step_by(step) {
        let file = root.join(&path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, &text).unwrap();
        fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
        let path = format!("/{path}");
        let place = place_of_file(&path, &text).unwrap_or_else(|| panic!("{path}: no format"));
        let changes = [
            ("TZ", Some("Asia/Tokyo")),
            ("TZ", None),
            ("API_KEY", Some("kR4tail")),
            ("DATABASE", Some("pg://me:Zq8hunter@h")),
            ("OPTS", Some("-u me:Zq8hunter")),
        ];
        // The last three in some files only: most formats have a program check each text.
        for (variable, value) in &changes[..if at % 8 == 0 { 5 } else { 2 }] {
            let location = Destination {
                place,
                file: Some(path.clone()),
                part: None,
                label: path.clone(),
                why: String::new(),
                confidence: Confidence::High,
                activation: Activation::Unknown,
                caveat: None,
                reach: None,
            };
            match plan(&location, variable, *value, &disk) {
                Ok(plan) => {
                    let shown = plan.diff_to_show();
                    let all = format!("{}\n{}\n{:?}\n{shown}", plan.what, plan.why, plan.caveats);
                    assert_none(&all, &text);
                    planned += 1;
                    // The place of the change and the variable stay visible.
                    if !plan.files.is_empty() {
                        assert!(shown.contains("@@ -") && shown.contains(&path), "{shown}");
                        named += usize::from(shown.contains(variable));
                    }
                }
                Err(why) => assert_none(&why.to_string(), &text),
            }
        }
    }
    let most = 1000 / step;
    assert!(planned > most && named > most, "{planned} changes, {named} with their variable");
}

/// Neither what a conflict nor what the list of changes says has a value that may be a secret.
#[test]
fn no_secret_is_listed() {
    let folder = tempfile::tempdir().unwrap();
    let (root, state) = (folder.path().join("root"), folder.path().join("state"));
    fs::create_dir_all(root.join("etc/default")).unwrap();
    fs::write(root.join("etc/default/web"), "A=Zq8hunter\nB=kR4tail\n").unwrap();
    let disk = Disk::at(&root).unwrap();
    let (journal, _) = Journal::open(&state, &root).unwrap();
    let mut all = Vec::new();
    for (variable, value) in
        [("API_KEY", "493817"), ("OPTS", "-u me:Zq8hunter"), ("OPTS", "kR4tail")]
    {
        let subject = Subject::File("/etc/default/web".into(), None);
        let (variable, value) = (variable.to_owned(), Some(value.to_owned()));
        let request = Request {
            rule: None,
            variable,
            value,
            setting: None,
            modules: None,
            caveat: None,
            subject,
        };
        assert_none(&request.to_string(), "the request");
        let change = resolve(&request, &disk).unwrap();
        let plan =
            plan(&change.location, &change.variable, change.value.as_deref(), &disk).unwrap();
        journal.apply(&plan.what, &plan.files, Vec::new()).unwrap();
        all.push(change);
    }
    let (_, conflicts) = merged(all);
    assert_eq!(conflicts.len(), 1);
    assert_none(&conflicts.join("\n"), "the conflict");
    let listed = Journal::list(&state).unwrap();
    assert_eq!(listed.readable.len(), 3);
    listed.readable.iter().for_each(|entry| assert_none(&entry.what, "the list"));
}
