//! The checked-in JSON schema is the generated one, and reports keep to it.

use crate::samples::Sample;
use needless_report::ReportFormat;
use serde_json::Value;

fn schema() -> Value {
    serde_json::from_str(&needless_report::schema()).unwrap()
}

#[test]
fn the_checked_in_schema_is_current() {
    let checked_in = include_str!("../../../../schema/needless.report-1.json");
    assert!(checked_in == needless_report::schema(), "run `cargo xtask gen`");
}

#[test]
fn reports_keep_to_the_schema() {
    let schema = schema();
    for sample in Sample::all() {
        let report = serde_json::from_str(&sample.rendered(ReportFormat::Json)).unwrap();
        check(&schema, &schema, &report, "report").unwrap();
    }
}

#[test]
fn a_report_that_breaks_the_schema_is_noticed() {
    let schema = schema();
    let good: Value =
        serde_json::from_str(&crate::samples::tree().rendered(ReportFormat::Json)).unwrap();
    let broken = |at: &str, value: Value| {
        let mut report = good.clone();
        *report.pointer_mut(at).unwrap() = value;
        check(&schema, &schema, &report, "report").unwrap_err()
    };
    broken("/schema", "needless.report/2".into());
    broken("/complete", "yes".into());
    broken("/findings/0/stage", "guessed".into());
    broken("/findings/0/share", 1.5.into());
    broken("/findings/0/remedies/0/caveat", "".into());
    broken("/findings/0/process/pid", Value::Null);
    broken("/not_checked/0/needs/0", "luck".into());
    let mut report = good.clone();
    report.as_object_mut().unwrap().remove("lost");
    assert!(check(&schema, &schema, &report, "report").unwrap_err().contains("lost"));
    report = good;
    report.as_object_mut().unwrap().insert("new".to_owned(), 1.into());
    assert!(check(&schema, &schema, &report, "report").unwrap_err().contains("new"));
}

/// The fields that other tools may rely on, by name.
#[test]
fn the_fields_that_other_tools_rely_on_are_there() {
    let report: Value =
        serde_json::from_str(&crate::samples::localtime().rendered(ReportFormat::Json)).unwrap();
    let is = |at: &str, value: Value| assert_eq!(report.pointer(at), Some(&value), "{at}");
    is("/schema", "needless.report/1".into());
    is("/backend", "ptrace (seccomp-assisted)".into());
    is("/lost", serde_json::json!({}));
    is("/totals/calls", 15.into());
    is("/totals/needless", 9.into());
    is("/findings/0/rule", "tz-unset".into());
    is("/findings/0/stage", "explained".into());
    is("/findings/0/needless", 9.into());
    is("/findings/0/of", 10.into());
    is("/findings/0/process/pid", 4711.into());
    is("/findings/0/process/exe", "/tmp/sample".into());
    is("/findings/0/remedies/0/kind", "set_env".into());
    is("/findings/0/remedies/0/variable", "TZ".into());
    is("/findings/0/remedies/0/value", "Europe/Athens".into());
    assert!(report.pointer("/findings/0/why").unwrap().as_str().unwrap().contains("localtime()"));
    assert!(report.pointer("/findings/0/remedies/0/caveat").unwrap().is_string());
}

#[test]
fn a_time_that_is_not_known_is_not_estimated_either() {
    let report: Value =
        serde_json::from_str(&crate::samples::tree().rendered(ReportFormat::Json)).unwrap();
    assert_eq!(report["findings"][0]["estimated"], true);
    assert_eq!(report["findings"][1]["kernel_us"], Value::Null);
    assert_eq!(report["findings"][1]["estimated"], false);
}

/// Checks `value` against `schema`: the keywords that our schema uses, and no unknown field; an
/// unknown keyword is an error, so that none is ignored.
fn check(root: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let schema = schema.as_object().ok_or(format!("{at}: schema is no object"))?;
    let fails = |what: &str| Err(format!("{at}: {what}: {value}"));
    for (keyword, wanted) in schema {
        match keyword.as_str() {
            "$ref" => {
                let path = wanted.as_str().unwrap().trim_start_matches('#');
                check(root, root.pointer(path).unwrap(), value, at)?;
            }
            "type" if !has_type(wanted, value) => return fails("wrong type"),
            "const" if wanted != value => return fails("wrong constant"),
            "enum" if !wanted.as_array().unwrap().contains(value) => return fails("not listed"),
            "minimum" if value.as_f64() < wanted.as_f64() => return fails("too small"),
            "maximum" if value.as_f64() > wanted.as_f64() => return fails("too large"),
            "minLength" => {
                let length = value.as_str().unwrap_or_default().chars().count() as u64;
                if length < wanted.as_u64().unwrap() {
                    return fails("too short");
                }
            }
            "anyOf" | "oneOf" => {
                let any = wanted.as_array().unwrap();
                if !any.iter().any(|one| check(root, one, value, at).is_ok()) {
                    return fails("no alternative fits");
                }
            }
            "items" => {
                for (n, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, wanted, item, &format!("{at}[{n}]"))?;
                }
            }
            "required" => {
                for name in wanted.as_array().unwrap() {
                    if value.get(name.as_str().unwrap()).is_none() {
                        return fails(&format!("lacks {name}"));
                    }
                }
            }
            "properties" => {
                let known = wanted.as_object().unwrap();
                for (name, field) in value.as_object().into_iter().flatten() {
                    let known = known.get(name).ok_or(format!("{at}: unknown field {name}"))?;
                    check(root, known, field, &format!("{at}.{name}"))?;
                }
            }
            "additionalProperties" => {
                for (name, field) in value.as_object().into_iter().flatten() {
                    check(root, wanted, field, &format!("{at}.{name}"))?;
                }
            }
            "type" | "const" | "enum" | "minimum" | "maximum" => {}
            "$schema" | "$comment" | "$defs" | "title" | "description" | "format" => {}
            _ => return Err(format!("{at}: the checker does not know the keyword {keyword}")),
        }
    }
    Ok(())
}

fn has_type(wanted: &Value, value: &Value) -> bool {
    match wanted.as_str() {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_u64() || value.is_i64(),
        Some("number") => value.is_number(),
        Some("string") => value.is_string(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        Some(other) => panic!("unknown type {other}"),
        None => wanted.as_array().unwrap().iter().any(|one| has_type(one, value)),
    }
}
