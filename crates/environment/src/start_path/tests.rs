use super::*;

fn last(words: &[&str]) -> Option<(Option<String>, How)> {
    let root = Root::own().unwrap();
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let mut way = StartPath::new(&root, "TZ", true);
    way.words(&words, ("/x", 3), 0);
    assert!(way.steps.iter().all(|step| (step.file.as_str(), step.line) == ("/x", 3)));
    way.last().map(|step| (step.value.clone(), step.how))
}

#[test]
fn what_words_do() {
    let removed = |how| Some((None, How::Words(how)));
    let set = |value: &str, how| Some((Some(value.to_owned()), How::Words(how)));
    assert_eq!(last(&["/usr/bin/env", "-u", "TZ", "x"]), removed("env -u"));
    assert_eq!(last(&["-env", "--unset=TZ", "A=1", "x"]), removed("env -u"));
    assert_eq!(last(&["env", "-i", "TZ=UTC", "x"]), set("UTC", "env"));
    assert_eq!(last(&["env", "-u", "LANG", "x", "-u", "TZ"]), None);
    assert_eq!(last(&["sudo", "-n", "-E", "-u", "bob", "env", "-u", "TZ", "x"]), removed("env -u"));
    assert_eq!(last(&["sudo", "-u", "bob", "TZ=UTC", "A=1", "x"]), set("UTC", "sudo"));
    assert_eq!(last(&["timeout", "-k", "9", "5", "env", "-uTZ", "x"]), removed("env -u"));
    assert_eq!(last(&["/bin/sh", "-ec", "TZ=Asia/Seoul exec x"]), set("Asia/Seoul", "sh -c"));
    assert_eq!(last(&["sh", "-c", "unset TZ; exec x"]), removed("sh -c"));
    assert_eq!(last(&["sh", "-c", "exec env -i x"]), removed("env -i"));
    assert_eq!(last(&["runuser", "-u", "bob", "--", "env", "-u", "TZ", "x"]), removed("env -u"));
    assert_eq!(last(&["sh", "-c", "TZ=UTC date; exec x"]), None);
}
