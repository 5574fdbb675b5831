//! The origin of a variable without the reasons why files do not reach the process.

use super::full::{Files, document};
use crate::Style;
use needless_model::Provenance;
use std::io::{self, Write};

pub(crate) fn write(
    out: &mut dyn Write,
    origin: &Provenance,
    _: &str,
    style: Style,
) -> io::Result<()> {
    document(out, origin, Files::ThatReach, style)
}
