//! Has a format's own checker (`visudo`, `sshd -t`, `sh -n`) read a text before it is written.

use crate::crontab;
use crate::error::EnvironmentError;
use crate::place::{CheckStyle, Place};
use crate::running::program_of_system;
use crate::scratch::{Scratch, in_memory};
use crate::shown_diff::HIDDEN_TEXT;
use std::process::Command;

/// The text for the checker: its standard input, under a name that can be opened. (`sshd` closes all other
/// descriptors.)
const INPUT: &str = "/proc/self/fd/0";

/// Has the file's own checker read the text; does nothing where the checker is not installed.
pub(crate) fn check(place: &Place, path: &str, text: &str) -> Result<(), EnvironmentError> {
    let [program, arguments @ ..] = place.check else { return Ok(()) };
    let Some(program) = program_of_system(program) else { return Ok(()) };
    let mut command = Command::new(&program);
    if place.check_style == CheckStyle::Crontab {
        let Some(option) = crontab::check_option(&program) else { return Ok(()) };
        command.arg(option);
    }
    let failed = |error: std::io::Error| format!("cannot have {path} checked: {error}");
    let input = in_memory(text.as_bytes()).map_err(failed)?;
    let (mut seen, mut checked, mut folder) = (INPUT.to_owned(), INPUT.to_owned(), None);
    if place.check_style == CheckStyle::UnitDropIn {
        let folder = folder.insert(Scratch::new().map_err(failed)?);
        let unit = folder.path().join("needless-check.service");
        folder.put(&unit, b"[Service]\nExecStart=/bin/true\n").map_err(failed)?;
        // systemd wants a file of that name. A link to the text in memory holds none of it.
        let drop_in = folder.make("needless-check.service.d").map_err(failed)?;
        let drop_in = drop_in.join("zz-needless.conf");
        folder.link(&drop_in, INPUT).map_err(failed)?;
        seen = drop_in.to_string_lossy().into_owned();
        checked = unit.to_string_lossy().into_owned();
    }
    command.args(arguments).arg(&checked).env("LC_ALL", "C").stdin(input);
    let done = command.output().map_err(failed)?;
    let complaint = String::from_utf8_lossy(&done.stderr).replace(&seen, path);
    // systemd-analyze exits 0 whatever it finds, and also complains about other units.
    let by_lines = matches!(place.check_style, CheckStyle::Lines | CheckStyle::UnitDropIn);
    let bad = if by_lines {
        complaint.lines().find(|line| line.starts_with(path))
    } else if done.status.success() {
        None
    } else {
        Some(complaint.lines().next().unwrap_or("no reason given"))
    };
    match bad {
        Some(line) => {
            let line = without_text(line, path, text);
            Err(format!("{} refuses the text: {line}", program.display()).into())
        }
        None => Ok(()),
    }
}

/// What a checker says about a text, without the words that may be from the text: they may be secrets.
fn without_text(complaint: &str, path: &str, text: &str) -> String {
    let letters = |text: &str| -> String { text.chars().filter(|c| c.is_alphanumeric()).collect() };
    let of_file = letters(text);
    // Its place is shown: the path and the numbers behind it.
    let rest = complaint.strip_prefix(path).unwrap_or(complaint);
    let place = rest.find(|c: char| !c.is_ascii_digit() && c != ':').unwrap_or(rest.len());
    let place = complaint.len() - rest.len() + if rest.len() < complaint.len() { place } else { 0 };
    let words = complaint[place..].split(' ').map(|word| {
        let own = letters(word);
        let short = own.len() < 4 && !own.contains(|c: char| c.is_ascii_digit());
        let is_line = own.parse().is_ok_and(|line: usize| line <= text.lines().count());
        if short || is_line || word == path || !of_file.contains(&own) { word } else { HIDDEN_TEXT }
    });
    complaint[..place].to_owned() + &words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::DEFAULT;

    /// While a checker runs, no file holds the text: whatever kills needless then, no copy stays.
    #[test]
    fn the_text_is_in_no_file_while_it_is_checked() {
        // Reads the text, and looks for a file with it.
        const LOOK: &str = "for f in ${TMPDIR:-/tmp}/needless-*/*.d/* \"$0\"; do
                grep -qs s3cret \"$f\" && found=1; done
            grep -rqs s3cret ${TMPDIR:-/tmp}/needless-*/ && found=
            test $found || { echo /etc/x: wrong >&2; false; }";
        for check_style in [CheckStyle::ExitStatus, CheckStyle::UnitDropIn] {
            let place = Place { check: &["sh", "-c", LOOK], check_style, ..DEFAULT };
            assert_eq!(check(&place, "/etc/x", "P=s3cret\n"), Ok(()));
            assert!(check(&place, "/etc/x", "P=\n").is_err());
        }
    }

    #[test]
    fn a_checker_repeats_no_text_of_the_file() {
        let text = "A='1'\nP='hun\"ter2' q --pin 4938\nexport TZ=\n";
        for (complaint, shown) in [
            ("/etc/x:2: unexpected \"hun\"ter2\" q", "/etc/x:2: unexpected … q"),
            ("sh: 2: hunter2: not found", "sh: 2: … not found"),
            ("/etc/x: line 3: bad --pin 4938", "/etc/x: line 3: bad --pin …"),
            ("/etc/x:4938: syntax error", "/etc/x:4938: syntax error"),
        ] {
            assert_eq!(without_text(complaint, "/etc/x", text), shown);
        }
    }
}
