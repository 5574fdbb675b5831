//! What the first version of the columns wrote is read by what is there now: `first.parquet` was written by it, and stays
//! as it is.

use needless_fixtures::duckdb;
use needless_fleet::{AgentWindow, Dimensions, Measures, is_window, parquet, ship};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

fn first() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/first.parquet")
}

#[test]
fn a_first_file_is_a_window_and_is_shipped() {
    assert!(is_window(File::open(first()).unwrap()));
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    fs::create_dir(&from).unwrap();
    let name = "needless-1700000000000000-a.parquet";
    fs::copy(first(), from.join(name)).unwrap();
    assert_eq!(ship(&from, &to).unwrap().copied, 1);
    assert_eq!(fs::read(to.join(name)).unwrap(), fs::read(first()).unwrap());
}

/// Cut anywhere it is none; and whatever its bytes say, nothing is believed.
#[test]
fn a_damaged_file_is_no_window_and_does_no_harm() {
    let whole = fs::read(first()).unwrap();
    let is = |bytes: &[u8]| {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        is_window(file)
    };
    assert!(is(&whole));
    for at in 0..whole.len() {
        assert!(!is(&whole[..at]), "cut at {at}");
        let mut damaged = whole.clone();
        damaged[at] ^= 0xff;
        let is_end = at < 4 || at + 4 >= whole.len();
        assert!(!is_end || !is(&damaged), "changed at {at}");
        is(&damaged);
    }
    let key = b"needless.schema";
    let at = whole.windows(key.len()).position(|text| text == key).unwrap();
    for other in [at, at + key.len() + 2] {
        let mut foreign = whole.clone();
        foreign[other] = b'N';
        assert!(!is(&foreign));
    }
}

#[test]
fn columns_keep_their_names_and_types_and_are_only_added() {
    let folder = tempfile::tempdir().unwrap();
    let now = folder.path().join("now.parquet");
    let window = AgentWindow { host: "b".into(), sample_scale: 2.0, ..AgentWindow::default() };
    let rows = [(Dimensions::default(), Measures { calls: 7, ..Measures::default() })];
    fs::write(&now, parquet(&window, &rows).unwrap()).unwrap();
    let columns = |file: &Path| {
        let view = format!("read_parquet('{}')", file.display());
        duckdb(&view, "SELECT column_name, column_type FROM (DESCRIBE needless_rows)")
    };
    let (Some(before), Some(after)) = (columns(&first()), columns(&now)) else { return };
    assert_eq!(before.len(), 19);
    assert_eq!(after[..before.len()], before[..], "also their order");

    let both = format!("read_parquet(['{}', '{}'])", first().display(), now.display());
    let sums = "SELECT host, min(schema), sum(calls), sum(needless), sum(needless * sample_scale) \
        FROM needless_rows GROUP BY host ORDER BY host";
    assert_eq!(
        duckdb(&both, sums).unwrap(),
        ["a|needless.rows/1|1576|1503|1503.0", "b|needless.rows/1|7|0|0.0"]
    );
}
