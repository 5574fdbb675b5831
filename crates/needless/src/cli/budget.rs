//! `--fail-on`: how much may be needless.

/// The largest amount that is not an error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum FailOn {
    /// Nothing.
    Any,
    /// Only what is small.
    Large,
    /// This number of calls.
    Calls(u64),
    /// This share of the calls that name a path, in percent.
    Percent(f64),
}

impl std::fmt::Display for FailOn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FailOn::Any => f.write_str("any"),
            FailOn::Large => f.write_str("large"),
            FailOn::Calls(calls) => write!(f, "{calls}"),
            FailOn::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

pub(super) fn budget(text: &str) -> Result<FailOn, String> {
    let wrong = || "expected any, large, a number of calls (1000), or a percentage (5%)".to_owned();
    match text.strip_suffix('%') {
        _ if text == "any" => Ok(FailOn::Any),
        _ if text == "large" => Ok(FailOn::Large),
        Some(number) => super::values::percent(number).map(FailOn::Percent).map_err(|_| wrong()),
        None => text.parse().map(FailOn::Calls).map_err(|_| wrong()),
    }
}

/// How much more calls may be made.
pub(super) fn growth(text: &str) -> Result<FailOn, String> {
    match budget(text) {
        Ok(FailOn::Large) | Err(_) => {
            Err("expected any, a number of calls (1000), or a percentage (5%)".to_owned())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets() {
        assert_eq!(budget("any"), Ok(FailOn::Any));
        assert_eq!(budget("large"), Ok(FailOn::Large));
        assert_eq!(budget("0"), Ok(FailOn::Calls(0)));
        assert_eq!(budget("2.5%"), Ok(FailOn::Percent(2.5)));
        assert_eq!(growth("5%"), Ok(FailOn::Percent(5.0)));
        assert!(growth("large").is_err() && growth("x").is_err());
        for wrong in ["", "%", "-1", "1.5", "x", "101%"] {
            assert!(budget(wrong).is_err(), "{wrong}");
        }
    }
}
