//! The origin of a variable without the reasons why files do not reach the process.

use super::full::{Files, document};
use crate::{OriginDocument, Style};
use std::io::{self, Write};

pub(crate) fn write(out: &mut dyn Write, origin: &OriginDocument, style: Style) -> io::Result<()> {
    document(out, origin, Files::ThatReach, style)
}
