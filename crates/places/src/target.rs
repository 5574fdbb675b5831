//! Whether a value is right for whom it would reach: FACTS of the runtimes, and the files it needs.

use needless_capture::Root;
use needless_model::Runtime;

/// Refuses a value that is wrong for the programs `exes`, whose file system is `root`.
///
/// # Errors
/// In a sentence: which program would take it wrongly, or what it needs that is not there.
pub fn check_target(
    variable: &str,
    value: Option<&str>,
    exes: &[String],
    root: &Root,
) -> Result<(), String> {
    let (Some(value), "TZ") = (value, variable) else { return Ok(()) };
    let name = value.strip_prefix(':').unwrap_or(value);
    let is_path = name.starts_with('/');
    let zone = format!("/usr/share/zoneinfo/{name}");
    let known = !name.is_empty() && !is_path && root.read(&zone).is_ok();
    // POSIX: "EST5EDT,M3.2.0,M11.1.0", "<+0330>-3:30".
    let is_rule = !known && !is_path && name.contains(|c: char| c.is_ascii_digit() || c == '<');
    for exe in exes {
        let runtime = Runtime::of_exe(exe);
        let wrong = match runtime {
            Runtime::Java | Runtime::Node => is_path || is_rule,
            Runtime::Go => is_rule,
            Runtime::Native => false,
        };
        if wrong {
            return Err(format!(
                "{exe} takes TZ={value} for another zone, without summer time or in UTC: give the \
                 zone's name (Area/City)"
            ));
        }
    }
    if !known && !is_path && !is_rule && !matches!(name, "UTC" | "") {
        return Err(format!(
            "there is no zone {name} for it ({zone} is missing): its time would silently be UTC"
        ));
    }
    Ok(())
}
