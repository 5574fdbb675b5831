//! Files in an agent's directory that are no windows: none is taken for one, and nothing panics.

#[path = "../../../../fuzz/check_footer.rs"]
mod check_footer;

use needless_fleet::{AgentWindow, parquet};

fn check(bytes: &[u8]) -> bool {
    check_footer::check_footer(bytes, tempfile::tempfile().unwrap())
}

/// What fuzzing starts from, and what it found.
#[test]
fn the_fuzz_corpus_is_not_taken_for_a_window() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/footer");
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        // Of some the footer is whole, and what is in front of a page is not.
        let is_whole = path.file_name().unwrap().to_string_lossy().starts_with("whole");
        assert_eq!(check(&std::fs::read(&path).unwrap()), is_whole, "{}", path.display());
    }
}

/// Each byte of the footer changed, and the file cut at each.
#[test]
fn a_damaged_footer_does_no_harm() {
    let window = AgentWindow {
        start_us: 0,
        end_us: 300_000_000,
        host: "web-1".into(),
        labels: "rack=7".into(),
        sample_scale: 1.0,
        version: "0.1.0".into(),
        facts: vec![("lost", "0".into())],
    };
    let whole = parquet(&window, &[]).unwrap();
    assert!(check(&whole));
    for at in 0..whole.len() {
        assert!(!check(&whole[..at]), "cut at {at}");
        for change in [1, 0x40, 0xff] {
            let mut damaged = whole.clone();
            damaged[at] ^= change;
            check(&damaged);
        }
    }
}
