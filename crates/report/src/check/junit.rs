//! A checked budget as a JUnit report: a test for each limit, which fails if it is exceeded. The elements and attributes
//! are those that Jenkins and GitLab read.

use crate::checked::{cause, causes, environment, escape_key, fix, grown};
use crate::text::escape;
use crate::{Check, Style};
use std::io::{self, Write};

pub(crate) fn write(out: &mut dyn Write, check: &Check<'_>, _: &str, _: Style) -> io::Result<()> {
    let limited = || check.measured.iter().filter(|one| one.limit.is_some());
    let (tests, failures) = (limited().count(), check.over().count());
    let name = xml(&format!("needless check {}", check.budget.name));
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(out, "<testsuites>")?;
    writeln!(
        out,
        "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"0\">"
    )?;
    let (shown, _) = causes(check);
    for one in limited() {
        let key = xml(&escape_key(&one.counted));
        write!(out, "    <testcase classname=\"{name}\" name=\"{key}\"")?;
        if !one.is_over() {
            writeln!(out, "/>")?;
            continue;
        }
        writeln!(out, ">")?;
        writeln!(out, "      <failure type=\"budget\" message=\"{}\">", xml(&grown(one)))?;
        for one in shown {
            let fix = fix(check, one).map_or_else(String::new, |fix| format!("; {fix}"));
            writeln!(out, "{}", xml(&format!("+{} {}{fix}", one.more, cause(check, one))))?;
        }
        for said in environment(check) {
            writeln!(out, "{}", xml(&said))?;
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
