//! A saved profile for other tools, as `--format profile` writes it.

use crate::Style;
use crate::report::profile::write_snapshot;
use needless_model::Snapshot;
use std::io::{self, Write};

pub(crate) fn write(
    out: &mut dyn Write,
    snapshot: &Snapshot,
    version: &str,
    _: Style,
) -> io::Result<()> {
    write_snapshot(out, snapshot, version)
}
