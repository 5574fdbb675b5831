//! What the fuzz target `footer` and an ordinary test call on any bytes: a file in an agent's directory.

use needless_fleet::{Footer, is_window};
use parquet::file::metadata::ParquetMetaDataReader;
use std::fs::File;
use std::io::Write;

/// Returns whether it is a window of an agent. `file`: an empty file to put the bytes into.
pub(crate) fn check_footer(bytes: &[u8], mut file: File) -> bool {
    file.write_all(bytes).expect("a file to write to");
    if let Ok(footer) = Footer::of(&file) {
        let _ = footer.check_pages(&file);
        // What passed is read by the crate without harm, and says the same to it.
        if let Ok(read) = ParquetMetaDataReader::new().parse_and_finish(&file) {
            assert_eq!(u64::try_from(read.file_metadata().num_rows()), Ok(footer.rows));
        }
    }
    is_window(file)
}
