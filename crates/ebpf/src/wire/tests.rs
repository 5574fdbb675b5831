//! Both sides of what is exchanged agree.

use super::*;
use needless_model::ArgClass;

/// What `name` stands for in shared.h: the number of a definition, or its place in an enumeration.
fn in_the_header(name: &str) -> Option<u64> {
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    };
    for line in include_str!("../bpf/shared.h").lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["#define", defined, value, ..] = words[..]
            && defined == name
        {
            return number(value);
        }
        let Some((_, members)) = line.strip_prefix("enum ").and_then(|l| l.split_once('{')) else {
            continue;
        };
        let mut next = 0;
        for member in members.trim_end_matches("};").split(',') {
            let (member, value) = member.split_once('=').unwrap_or((member, ""));
            let at = if value.is_empty() { next } else { number(value.trim())? };
            next = at + 1;
            if member.trim() == name {
                return Some(at);
            }
        }
    }
    None
}

#[test]
fn both_sides_use_the_same_numbers() {
    for (name, value) in AGREED {
        assert_eq!(in_the_header(name), Some(*value), "{name}");
    }
    let asks = ["STAT", "LSTAT", "OPEN", "OPEN_WRITE", "ACCESS", "READLINK", "EXEC", "CHANGE"];
    for (at, query) in asks.into_iter().chain(["OTHER", "NO_PATH"]).enumerate() {
        assert_eq!(in_the_header(&format!("ASK_{query}")), Some(at as u64), "{query}");
    }
    for (name, detail) in [
        ("SMALL_OUTPUT", ArgClass::SmallOutput),
        ("HEAP_GROWS", ArgClass::HeapGrows),
        ("HEAP_SHRINKS", ArgClass::HeapShrinks),
        ("NAME_SERVER", ArgClass::NameServer),
        ("SYSTEM_LOG", ArgClass::SystemLog),
        ("DISCARDED_OUTPUT", ArgClass::DiscardedOutput),
    ] {
        assert_eq!(in_the_header(name), Some(detail as u64), "{name}");
    }
    assert_eq!(in_the_header("NOT_THERE"), None);
}

#[test]
fn a_table_of_calls_has_the_size_that_the_kernel_expects() {
    let here = Here { key: [0; 2], pid: 1, pid_namespace: 1, cpus: 1 };
    let bytes = settings(Scope::Everyone, &SessionOptions::default(), &here);
    assert_eq!(bytes.len(), SETTINGS_SIZE);
}
