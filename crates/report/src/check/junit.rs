//! A checked budget as a JUnit report: a test for each limit, which fails if it is exceeded. The elements and attributes
//! are those that Jenkins and GitLab read.

use crate::check_text::{grown, reason};
use crate::text::escape;
use crate::{CheckDocument, Style};
use std::io::{self, Write};

pub(crate) fn write(out: &mut dyn Write, check: &CheckDocument, _: Style) -> io::Result<()> {
    let limited = || check.counts.iter().filter(|one| one.limit.is_some());
    let (tests, failures) = (limited().count(), check.over().count());
    let name = xml(&format!("needless check {}", check.budget));
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(out, "<testsuites>")?;
    writeln!(
        out,
        "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"0\">"
    )?;
    let (shown, _) = check.shown();
    for one in limited() {
        let key = xml(&one.key);
        write!(out, "    <testcase classname=\"{name}\" name=\"{key}\"")?;
        if !one.over {
            writeln!(out, "/>")?;
            continue;
        }
        writeln!(out, ">")?;
        writeln!(out, "      <failure type=\"budget\" message=\"{}\">", xml(&grown(one)))?;
        for one in shown {
            writeln!(out, "{}", xml(&reason(one)))?;
        }
        for said in &check.environment {
            writeln!(out, "{}", xml(said))?;
        }
        writeln!(out, "      </failure>\n    </testcase>")?;
    }
    writeln!(out, "  </testsuite>\n</testsuites>")
}

/// Text for an element or an attribute.
fn xml(text: &str) -> String {
    // XML 1.0 has no characters for most controls, escaped or not.
    escape(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}
