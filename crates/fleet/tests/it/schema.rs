//! What the first version of the columns wrote is read by what is there now: `first.parquet` was written by it, and stays
//! as it is.

use needless_fixtures::duckdb;
use needless_fleet::{AgentWindow, Dimensions, Measures, is_window, parquet, ship};
use std::fs::{self, File};
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
