//! The page: nothing in it is the observed program's markup, its policy fits it, and its sums are those of other formats.

use crate::common::*;
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What a browser's parser makes of a page, by python's: tags with their number, attributes that hold script, texts of
/// style and script elements as hashes, the policy, and the calls of the tree's leaves by cause.
const PARSE: &str = r#"
import base64, hashlib, html.parser, json, sys
class Page(html.parser.HTMLParser):
    tags, handlers, hashes, leaves, policy, inside = {}, [], {}, {}, '', None
    def handle_starttag(self, tag, attributes):
        self.tags[tag] = self.tags.get(tag, 0) + 1
        of = dict(attributes)
        self.handlers += [name for name in of if name.startswith('on') or name in ('style', 'src')]
        if of.get('http-equiv') == 'Content-Security-Policy': self.policy = of['content']
        if tag in ('script', 'style'): self.inside = tag
        if 'data-c' in of: self.leaves[of['data-s']] = self.leaves.get(of['data-s'], 0) + int(of['data-n'])
    def handle_endtag(self, tag):
        if tag == self.inside: self.inside = None
    def handle_data(self, data):
        if self.inside:
            digest = hashlib.sha256(data.encode()).digest()
            self.hashes[self.inside] = base64.b64encode(digest).decode()
page = Page()
page.feed(open(sys.argv[1], encoding='utf-8').read())
page.close()
json.dump({name: getattr(page, name) for name in ('tags', 'handlers', 'hashes', 'leaves', 'policy')}, sys.stdout)
"#;

fn parsed(page: &Path) -> Value {
    let done = command("python3").arg("-c").arg(PARSE).arg(page).output().unwrap();
    assert!(done.status.success(), "{}", stderr(&done));
    serde_json::from_slice(&done.stdout).unwrap()
}

/// That the page has one style and one script, which its policy allows by their hashes, and no other way for a script.
fn assert_closed(page: &Path) -> Value {
    let text = fs::read_to_string(page).unwrap();
    let bad = |c: &char| c.is_control() && *c != '\n' || *c == '\u{202e}';
    assert_eq!(text.chars().find(bad), None);
    assert!(!text.contains("http://") && !text.contains("https://"), "{text}");
    let found = parsed(page);
    assert_eq!((&found["tags"]["script"], &found["tags"]["style"]), (&1.into(), &1.into()));
    assert_eq!(found["handlers"], Value::Array(Vec::new()));
    for tag in ["img", "iframe", "link", "object", "form", "base"] {
        assert!(found["tags"][tag].is_null(), "{tag}");
    }
    let policy = found["policy"].as_str().unwrap();
    assert!(policy.starts_with("default-src 'none';") && !policy.contains("unsafe"), "{policy}");
    for tag in ["script", "style"] {
        let hash = found["hashes"][tag].as_str().unwrap();
        assert!(policy.contains(&format!("{tag}-src 'sha256-{hash}'")), "html.rs: {tag} is {hash}");
    }
    found
}

fn with_commas(n: &Value) -> String {
    needless_report::number(n.as_u64().unwrap())
}

#[test]
fn a_hostile_program_is_text_and_sums_are_equal_in_each_format() {
    let (Some(sample), Some(_)) = (testee("packagecloud"), program("python3")) else { return };
    let folder = open_folder();
    let evil = b"</script><img src=x onerror=alert(1)>\"'&\x1b[31m\x07\xff\xe2\x80\xae";
    let hostile =
        folder.path().join(OsStr::from_bytes(&evil.map(|b| if b == b'/' { b'|' } else { b })));
    fs::copy(&sample, &hostile).unwrap();
    let below = folder.path().join(OsStr::from_bytes(b"<"));
    fs::create_dir_all(&below).unwrap();
    // A name with a slash: the path of a file that is not there.
    let slashed = below.join("script><script>alert(2)<");
    let script = r#"for i in 1 2 3 4 5 6 7 8 9 10; do cat "$2"; done 2>/dev/null; "$1" 1000"#;
    let [page, json, text] = ["x.html", "x.json", "x.txt"].map(|name| folder.path().join(name));
    let mut ran = command(NEEDLESS);
    ran.args(["run", "--all"]);
    for output in [&page, &json, &text] {
        ran.arg("-o").arg(output);
    }
    ran.args(["--", "sh", "-c", script, "sh"]).arg(&hostile).arg(&slashed);
    let done = ran.output().unwrap();
    assert!(stderr(&done).is_empty(), "{}", stderr(&done));

    let found = assert_closed(&page);
    let again = folder.path().join("again.html");
    let words = ["show", json.to_str().unwrap(), "-o", again.to_str().unwrap()];
    assert!(needless(&words).status.success());
    let html = fs::read_to_string(&page).unwrap();
    assert_eq!(fs::read_to_string(&again).unwrap(), html);
    assert!(html.contains("|script&gt;&lt;img"), "the name is shown");

    let report: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    let full = fs::read_to_string(&text).unwrap();
    let account = &report["account"];
    let sum = |calls: &[&Value]| calls.iter().map(|n| n.as_u64().unwrap()).sum::<u64>();
    let [wasted, unexplained, unjudged] =
        ["needless", "unexplained", "unjudged"].map(|part| &account[part]["calls"]);
    let all = account["calls"].as_u64().unwrap();
    assert_eq!(sum(&[&account["needed"], wasted, unexplained, unjudged]), all);
    assert!(wasted.as_u64().unwrap() > 900, "{wasted}");
    for n in [&account["calls"], &account["needed"], wasted, unexplained, &account["failed"]] {
        let n = with_commas(n);
        assert!(full.contains(&n) && html.contains(&n), "{n}: {full}");
    }
    if "markdown".parse::<needless_report::ReportFormat>().is_ok() {
        let markdown = stdout(&needless(&["show", words[1], "--format", "markdown"]));
        for n in [&account["calls"], &account["needed"], wasted, unexplained, &account["failed"]] {
            assert!(markdown.contains(&with_commas(n)), "{n}: {markdown}");
        }
    }
    let parts = report["breakdown"].as_array().unwrap();
    let of_kind = |kind: &str| {
        let calls = parts.iter().filter(|part| kind.is_empty() || part["kind"] == kind);
        calls.map(|part| part["calls"].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(of_kind(""), all);
    assert_eq!(Value::from(of_kind("unexplained")), *unexplained);
    let leaves = found["leaves"].as_object().unwrap();
    assert_eq!(leaves.values().map(|n| n.as_u64().unwrap()).sum::<u64>(), all);
    assert_eq!(leaves["needless: tz-unset"], needless_of(&report, "tz-unset"));
    assert_eq!(&leaves["not explained"], unexplained);
}

#[test]
fn a_proof_and_a_comparison_are_pages_too() {
    let (Some(sample), Some(_)) = (testee("packagecloud"), program("python3")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (page, json, text) = (path("p.html"), path("p.json"), path("p.txt"));
    let mut words = vec!["prove", "--set", "TZ=UTC", "--runs", "6"];
    words.extend([&page, &json, &text].into_iter().flat_map(|file| ["-o", file]));
    let script = format!("{sample} 1000 >/dev/null");
    let done = needless(&[&words[..], &["--", "sh", "-c", &script]].concat());
    assert!(done.status.code().is_some_and(|code| code < 2), "{}", stderr(&done));
    assert_closed(Path::new(&page));
    let (html, full) = (fs::read_to_string(&page).unwrap(), fs::read_to_string(&text).unwrap());
    let proof: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    for n in [&proof["calls_before"]["least"], &proof["calls_after"]["least"]] {
        let n = with_commas(n);
        assert!(html.contains(&n) && full.contains(&n), "{n}: {full}");
    }
    let measures = proof["measures"].as_array().unwrap().len();
    let table = full.lines().skip_while(|line| !line.contains("95 % in pairs")).skip(1);
    for line in table.take(measures) {
        let (_, end) = line.split_once(" to ").unwrap_or_else(|| panic!("{line}: {full}"));
        let end = end.split_whitespace().next().unwrap();
        assert!(html.contains(&format!(" to {end}")), "{end}");
    }
    let profile = |name: &str, n: &str| {
        let file = path(name);
        needless(&["run", "--format", "profile", "-o", &file, "--", &sample, n]);
        file
    };
    let (one, other) = (profile("a.json", "1000"), profile("b.json", "10"));
    let page = path("d.html");
    assert!(needless(&["diff", &one, &other, "-o", &page]).status.success());
    assert_closed(Path::new(&page));
    assert!(fs::read_to_string(&page).unwrap().contains("shrank: "));
}
