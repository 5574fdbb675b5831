//! Comments in configuration files that ask to leave a finding alone: `# needless: ignore tz-unset: the reason`.

use crate::{Disk, Plan};
use std::path::Path;

/// The beginning of such a comment, after `#` or `;`.
const MARK: &str = "needless: ignore ";

/// Returns a sentence with file and line if a comment asks not to follow the advice of `rule`. Searches the files of
/// the plan and, if one is a drop-in of systemd, the unit's own file.
pub(crate) fn ignored(plan: &Plan, rule: &str, disk: &Disk) -> Option<String> {
    plan.files.iter().find_map(|file| {
        let own = file.before.as_deref().and_then(|text| comment(text, rule));
        if let Some(found) = own {
            return Some(sentence(&file.path, rule, &found));
        }
        let unit = unit(&file.path)?;
        // A file that cannot be read has no comment.
        let text = disk.bytes(unit, false).ok().flatten()?;
        comment(&text, rule).map(|found| sentence(unit, rule, &found))
    })
}

fn sentence(path: &str, rule: &str, (line, reason): &(usize, String)) -> String {
    let why = if reason.is_empty() { "without a reason" } else { reason };
    format!("{path}:{line} says to ignore {rule}: {why}")
}

/// The unit's own file, for a drop-in beside it.
fn unit(path: &str) -> Option<&str> {
    let folder = Path::new(path).parent()?.to_str()?;
    folder.starts_with("/etc/systemd/").then_some(folder)?.strip_suffix(".d")
}

/// The line, from 1, and the reason.
fn comment(text: &[u8], rule: &str) -> Option<(usize, String)> {
    let text = String::from_utf8_lossy(text);
    text.lines().enumerate().find_map(|(at, line)| {
        let comment = line.trim_start().strip_prefix(['#', ';'])?;
        let named = comment.trim_start_matches(['#', ';', ' ', '\t']).strip_prefix(MARK)?;
        let (name, reason) = named.split_once(':').unwrap_or((named, ""));
        (name.trim() == rule).then(|| (at + 1, reason.trim().to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_found_by_rule() {
        let text =
            b"[Unit]\n  ; needless: ignore tz-unset: runs once a day\n#needless: ignore a-b\n";
        assert_eq!(comment(text, "tz-unset"), Some((2, "runs once a day".to_owned())));
        assert_eq!(comment(text, "a-b"), Some((3, String::new())));
        assert_eq!(comment(text, "tz"), None);
        assert_eq!(comment(b"X=needless: ignore tz-unset: x", "tz-unset"), None);
        let own = unit("/etc/systemd/system/x.service.d/zz-needless.conf");
        assert_eq!(own, Some("/etc/systemd/system/x.service"));
        assert_eq!(unit("/etc/sudoers.d/zz-needless"), None);
    }
}
