//! For other tools: the report itself, with its versioned schema.

use crate::json::print;
use crate::{Report, Style};
use std::io::{self, Write};

pub(crate) fn write(out: &mut dyn Write, report: &Report<'_>, _: Style) -> io::Result<()> {
    print(out, report.document)
}
