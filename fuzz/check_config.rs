//! What the fuzz target `config` and an ordinary test call on every text: a needless.toml is read, or refused in one line.

use needless_config::{Config, parse};

/// Returns whether it was read.
pub(crate) fn check_config(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let mut config = Config::default();
    match parse(text, "needless.toml", &mut config) {
        Ok(()) => true,
        Err(error) => {
            let said = error.to_string();
            assert_eq!(said.lines().count(), 1, "{said}");
            false
        }
    }
}
