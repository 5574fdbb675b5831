//! What the reader of a file takes from somewhere else, and files that cannot be changed: the user learns which.

use needless_environment::{Activation, Destination, Disk, Plan, place_of_file, plan};
use needless_model::Confidence;
use std::fs;

fn planned(
    path: &str,
    text: Option<&str>,
    part: Option<&str>,
    value: Option<&str>,
) -> Result<Plan, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(&path[1..]);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    if let Some(text) = text {
        fs::write(&file, text).unwrap();
    }
    let location = Destination {
        place: place_of_file(path, text.unwrap_or_default()).unwrap(),
        file: Some(path.to_owned()),
        part: part.map(str::to_owned),
        label: String::new(),
        why: String::new(),
        confidence: Confidence::High,
        activation: Activation::Unknown,
        caveat: None,
        reach: None,
    };
    let disk = Disk::at(folder.path()).unwrap();
    plan(&location, "TZ", value, &disk).map_err(|why| why.to_string())
}

/// Files with the part that is changed: what may set the variable elsewhere, a text that does not set it, and one that
/// does.
const ELSEWHERE: [(&str, Option<&str>, &str, &str, &str); 6] = [
    (
        "/srv/compose.yaml",
        Some("web"),
        "line 4 (env_file)",
        "services:\n  web:\n    image: x\n    env_file: x.env\n",
        "services:\n  web:\n    environment:\n      TZ: b\n      A: b\n    env_file:\n      - x.env\n",
    ),
    (
        "/srv/compose.yaml",
        None,
        "line 3 (extends)",
        "services:\n  web:\n    extends:\n      service: y\n",
        "services:\n  web:\n    extends:\n      service: y\n    environment:\n      - TZ=b\n      - A=b\n",
    ),
    (
        "/srv/compose.yaml",
        None,
        "line 1 (include)",
        "include:\n  - other.yaml\nservices:\n  web:\n    image: y\n",
        "include:\n  - other.yaml\nservices:\n  web:\n    environment:\n      - TZ=b\n      - A=b\n",
    ),
    (
        "/srv/compose.yaml",
        None,
        "line 4 (env_file)",
        "services:\n  web:\n    image: x\n    env_file:\n      - one.env\n      - path: two.env\n        required: false\n",
        "services:\n  web:\n    env_file:\n      - path: two.env\n        required: false\n    environment:\n      TZ: b\n      A: b\n",
    ),
    (
        "/srv/Dockerfile",
        None,
        "line 2 (FROM)",
        "FROM a AS b\nfrom c\n",
        "FROM a AS b\nFROM c\nENV TZ=b\n",
    ),
    (
        "/etc/supervisor/conf.d/a.conf",
        Some("web"),
        "supervisord.conf",
        "[program:web]\ncommand=x\n",
        "[program:web]\ncommand=x\nEnvironment: TZ=b\n",
    ),
];

/// "Already so" would be wrong where a file that was not looked at may set the variable.
#[test]
fn what_else_may_set_a_variable_is_named() {
    const ITEM: &str = "      containers:\n      - name: web\n        image: x\n";
    let pod = format!("spec:\n{ITEM}        envFrom:\n        - secretRef:\n            name: s\n");
    let pod_sets = format!(
        "{pod}        env:\n        - name: TZ\n          value: b\n        - name: A\n          value: b\n"
    );
    let with_map = |pod: &str| {
        let pod = pod.replace("secretRef", "configMapRef");
        format!("kind: ConfigMap\ndata:\n  X: y\n---\nkind: Pod\n{pod}")
    };
    let (mapped, mapped_sets) = (with_map(&pod), with_map(&pod_sets));
    let pods = [
        ("/srv/pod.yaml", None, "line 5 (envFrom)", &*pod, &*pod_sets),
        // Also where the map is in the same file.
        ("/srv/pod.yaml", None, "line 10 (envFrom)", &*mapped, &*mapped_sets),
    ];
    for (path, part, line, text, sets) in ELSEWHERE.into_iter().chain(pods) {
        let why = planned(path, Some(text), part, None).unwrap_err();
        assert!(why.contains(line) && why.contains("was not looked at"), "{why}");
        assert!(why.contains("TZ is not set in it") && !why.contains('\n'), "{why}");
        // What the file itself sets is removed, and the rest is said.
        let plan = planned(path, Some(sets), part, None).unwrap();
        assert!(!plan.diff().is_empty());
        let said = plan.caveats.iter().any(|caveat| caveat.contains("was not looked at"));
        assert!(said, "{path}: {:?}", plan.caveats);
        // Setting it there is stronger.
        assert!(planned(path, Some(text), part, Some("UTC")).unwrap().caveats.is_empty());
    }
    // The map itself sets it: its line is named, and a value of the container is stronger.
    let mapped = with_map(&pod).replace("X: y", "TZ: y");
    let why = planned("/srv/pod.yaml", Some(&mapped), None, None).unwrap_err();
    assert!(why.contains("line 3 still has TZ in it"), "{why}");
    let plan = planned("/srv/pod.yaml", Some(&mapped), None, Some("UTC")).unwrap();
    assert!(plan.diff().contains("+          value: \"UTC\"\n"), "{}", plan.diff());
    let why = planned("/etc/profile.d/a.sh", Some("A=1\n. /etc/b\n"), None, None).unwrap_err();
    assert!(why.contains("line 2 (.) may end the file"), "{why}");
    // Nothing else is read for these.
    for (path, text) in [
        ("/srv/Dockerfile", "FROM scratch\n"),
        ("/srv/compose.yaml", "services:\n  web:\n    image: x\n"),
        ("/etc/profile.d/a.sh", "A=1\n"),
    ] {
        assert!(planned(path, Some(text), None, None).unwrap().files.is_empty(), "{path}");
    }
}

#[test]
fn a_key_with_a_question_mark_is_over_lines() {
    let text = "services:\n  web:\n    environment:\n      ? TZ\n      : Asia/Tokyo\n";
    for value in [Some("UTC"), None] {
        let why = planned("/srv/compose.yaml", Some(text), None, value).unwrap_err();
        let says = "a value over several lines is not changed automatically: edit it by hand";
        assert_eq!(why, format!("/srv/compose.yaml: line 4: {says}"));
    }
}

#[test]
fn a_file_of_an_image_is_not_made() {
    for path in ["/srv/Dockerfile", "/srv/none/Dockerfile"] {
        let why = planned(path, None, None, Some("UTC")).unwrap_err();
        assert_eq!(why, format!("{path}: there is no such file"));
    }
}
