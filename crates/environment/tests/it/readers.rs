//! Compose files, changed and then read by compose-go, which is Compose v2's own reader: what it gives each service is
//! what was meant, and nothing else changes. `tools/readers` has it.

use crate::common::{changed, texts};
use needless_environment::COMPOSE;
use needless_fixtures::needed;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Every way in which a service gets variables.
const TEXT: &str = "\
name: shop
x-env: &env
  TZ: Asia/Tokyo
  A: \"1\"
x-base: &base
  image: base
  environment:
    TZ: UTC
services:
  map: # ours
    image: \"x:1\"
    environment: # two
      A: '1'
      TZ: ${HOME}
  list:
    image: y
    profiles: [debug]
    environment:
    - A=1
    - \"C=x y\"
  file:
    image: y
    env_file: one.env
  files:
    image: y
    env_file:
      - one.env
      - path: ./two.env
        required: false
      - path: ./none.env
        required: false
    environment:
      B: own
  merged:
    image: z
    environment:
      <<: *env
      B: two
  both:
    <<: *base
    environment:
      - D=4
  alias:
    image: z
    environment: *env
  based:
    <<: *base
    init: true
  more:
    extends:
      service: map
    command: [\"true\"]
volumes:
  v: {}
";

/// What compose-go makes of each text.
fn read(texts: &[&str]) -> Option<Vec<Value>> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/bin/readers");
    let missing =
        || "needs the readers of Docker's files (scripts/install test builds them)".to_owned();
    needed(program.exists().then_some(()).ok_or_else(missing))?;
    let folders: Vec<tempfile::TempDir> =
        texts.iter().map(|_| tempfile::tempdir().unwrap()).collect();
    for (folder, text) in folders.iter().zip(texts) {
        let write =
            |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("compose.yaml", text);
        write("one.env", "TZ=Europe/Rome\nE=1\n");
        write("two.env", "export TZ=\"Europe/Oslo\"\n");
    }
    let paths: Vec<PathBuf> = folders.iter().map(|folder| folder.path().to_owned()).collect();
    let done = Command::new(program).arg("compose").args(paths).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(serde_json::from_slice(&done.stdout).unwrap())
}

#[test]
fn compose_v2_reads_what_was_meant() {
    let parts = ["map", "list", "file", "files", "merged", "both", "more"];
    let all = changed(&COMPOSE, TEXT, &parts);
    let wrong = "services:\n  web:\n    image: x\n    environment: 5\n";
    let texts = texts(&all, &[TEXT, wrong]);
    let Some(read) = read(&texts) else { return };
    let [.., before, wrong] = &read[..] else { panic!("{read:?}") };
    // It must refuse wrong files; otherwise this test would show nothing.
    assert!(wrong["refused"].is_string(), "{wrong}");
    for ((part, value, text), read) in all.iter().zip(&read) {
        let mut expected = before.clone();
        expected["services"][*part]["TZ"] = json!(value);
        // It inherits from that one.
        if *part == "map" {
            expected["services"]["more"]["TZ"] = json!(value);
        }
        assert_eq!(*read, expected, "{part} {value}:\n{text}");
    }
}

/// What `find` says of a service is what compose-go gives it, where nothing outside of the text decides.
#[test]
fn compose_v2_has_what_is_found() {
    let Some(read) = read(&[TEXT]) else { return };
    for part in ["map", "list", "merged", "both", "alias", "based"] {
        for variable in ["TZ", "A", "B", "C", "D"] {
            let found = COMPOSE.find(TEXT, variable, Some(part)).pop();
            let is = &read[0]["services"][part][variable];
            match found {
                Some(found) if found.certain => {
                    assert_eq!(json!(found.value), *is, "{part} {variable}")
                }
                Some(_) => assert_eq!((part, variable), ("map", "TZ"), "not certain"),
                None => assert!(is.is_null(), "{part} {variable}: {is}"),
            }
        }
    }
}
