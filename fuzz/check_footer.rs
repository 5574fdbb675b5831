//! What the fuzz target `footer` and an ordinary test call on any bytes: a file in an agent's directory.

use needless_fleet::is_window;
use std::fs::File;
use std::io::Write;

/// Returns whether it is a window of an agent. `file`: an empty file to put the bytes into.
pub(crate) fn check_footer(bytes: &[u8], mut file: File) -> bool {
    file.write_all(bytes).expect("a file to write to");
    is_window(file)
}
