//! The two variants of a command: with and without the change.

use crate::{ProveError, Random};
use needless_launch::Launch;
use needless_model::{Change, without_entries};
use std::ffi::OsString;

/// A variable that no program is known to read. Its length is random in every measured run of both variants,
/// because the size of the environment moves the stack, and the position of the stack can change the speed.
pub const PADDING: &str = "STACK_PADDING";
/// The padding is shorter than this, in bytes: the size of a page, so that every offset in a page occurs.
const LONGEST: usize = 4096;

type Environment = Vec<(OsString, OsString)>;

/// One of two ways to run the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// As it is.
    Before,
    /// With the change.
    After,
}

/// The command in both variants.
pub(crate) struct Variants {
    launch: Launch,
    before: Environment,
    after: Environment,
}

impl Variants {
    /// Makes `changes` to the environment of `launch`.
    ///
    /// # Errors
    /// When a change does not concern the environment, or can have no effect.
    pub(crate) fn new(launch: Launch, changes: &[Change]) -> Result<Variants, ProveError> {
        let before = launch.env.clone().unwrap_or_else(|| std::env::vars_os().collect());
        let mut after = before.clone();
        for change in changes {
            after = changed(&launch, after, change).map_err(ProveError::Change)?;
        }
        Ok(Variants { launch, before, after })
    }

    /// The command of a variant, with `padding` bytes in [`PADDING`], or without that variable.
    pub(crate) fn launch(&self, variant: Variant, padding: Option<usize>) -> Launch {
        let mut env = match variant {
            Variant::Before => self.before.clone(),
            Variant::After => self.after.clone(),
        };
        if let Some(length) = padding {
            env.push((PADDING.into(), "x".repeat(length).into()));
        }
        Launch { env: Some(env), ..self.launch.clone() }
    }
}

/// A length for [`PADDING`].
pub(crate) fn padding(random: &mut Random) -> usize {
    random.below(LONGEST)
}

fn changed(launch: &Launch, mut env: Environment, change: &Change) -> Result<Environment, String> {
    match change {
        Change::SetEnv { variable, value: Some(value) } => {
            let value = OsString::from(value);
            match env.iter_mut().find(|(name, _)| name == variable.as_str()) {
                Some((_, old)) => *old = value,
                None => env.push((variable.into(), value)),
            }
            Ok(env)
        }
        Change::UnsetEnv { variable } => {
            env.retain(|(name, _)| name != variable.as_str());
            Ok(env)
        }
        Change::WithoutEntries { variable, entries } => {
            let at = env.iter().position(|(name, _)| name == variable.as_str());
            let at = at.ok_or_else(|| format!("{variable} is not set here"))?;
            let text = env[at].1.to_str().ok_or_else(|| format!("{variable} is not UTF-8"))?;
            match without_entries(variable, text, entries) {
                Some(same) if same == text => {
                    return Err(format!("{variable} lists none of these entries here"));
                }
                Some(value) => env[at].1 = value.into(),
                None => drop(env.remove(at)),
            }
            Ok(env)
        }
        Change::Preload => {
            let library = needless_observe::preload_library().map_err(|failure| failure.message)?;
            needless_observe::preloaded(&Launch { env: Some(env), ..launch.clone() }, library)
        }
        Change::SetEnv { variable, value: None } => Err(format!(
            "{variable}: which value is right could not be found out; give it with --set"
        )),
        Change::Setting(_, text) | Change::Option(text) | Change::Manual(text) => {
            Err(format!("not a change of the environment, to be made by hand: {text}"))
        }
    }
}

/// Whether needless can make this change by itself.
pub fn can_make(change: &Change) -> bool {
    matches!(
        change,
        Change::SetEnv { value: Some(_), .. }
            | Change::UnsetEnv { .. }
            | Change::WithoutEntries { .. }
            | Change::Preload
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variants(changes: &[Change]) -> Variants {
        let env = [("A", "1"), ("TZ", "UTC"), ("B", "2")].map(|(n, v)| (n.into(), v.into()));
        let launch = Launch {
            program: "/bin/true".into(),
            argv: vec!["true".into()],
            env: Some(env.to_vec()),
            stdio: needless_launch::Stdio::Null,
            caller: None,
        };
        Variants::new(launch, changes).unwrap()
    }

    fn names(launch: &Launch) -> Vec<String> {
        let env = launch.env.as_ref().unwrap();
        env.iter().map(|(n, v)| format!("{}={}", n.display(), v.display())).collect()
    }

    #[test]
    fn a_change_keeps_the_place_of_what_was_there() {
        let change = Change::SetEnv { variable: "TZ".into(), value: Some("Asia/Tokyo".into()) };
        let variants = variants(&[change, Change::UnsetEnv { variable: "A".into() }]);
        assert_eq!(names(&variants.launch(Variant::Before, None)), ["A=1", "TZ=UTC", "B=2"]);
        assert_eq!(names(&variants.launch(Variant::After, None)), ["TZ=Asia/Tokyo", "B=2"]);
    }

    #[test]
    fn a_list_loses_entries_and_is_unset_without_any() {
        let without = |entries: &[&str]| Change::WithoutEntries {
            variable: "TZ".into(),
            entries: entries.iter().map(|entry| entry.to_string()).collect(),
        };
        let env = |text: &str, entries: &[&str]| {
            let set = Change::SetEnv { variable: "TZ".into(), value: Some(text.into()) };
            names(&variants(&[set, without(entries)]).launch(Variant::After, None))
        };
        assert_eq!(env("/a:/b", &["/a"]), ["A=1", "TZ=/b", "B=2"]);
        assert_eq!(env("/a:/b", &["/a", "/b"]), ["A=1", "B=2"]);
        let launch = variants(&[]).launch(Variant::Before, None);
        assert!(Variants::new(launch, &[without(&["/a"])]).is_err(), "TZ is UTC");
    }

    #[test]
    fn both_arms_are_padded() {
        let variants = variants(&[]);
        for variant in [Variant::Before, Variant::After] {
            assert_eq!(
                names(&variants.launch(variant, Some(3))).last().unwrap(),
                "STACK_PADDING=xxx"
            );
        }
        let mut random = Random::new(7);
        let lengths: Vec<usize> = (0..10_000).map(|_| padding(&mut random)).collect();
        assert!(lengths.iter().all(|length| *length < LONGEST));
        assert!(lengths.iter().any(|l| *l < 40) && lengths.iter().any(|l| *l > LONGEST - 40));
    }

    #[test]
    fn what_is_no_change_of_the_environment_is_refused() {
        let launch = variants(&[]).launch(Variant::Before, None);
        let failed = Variants::new(launch, &[Change::Manual("call tzset()".into())]).err().unwrap();
        assert!(matches!(failed, ProveError::Change(_)));
        assert!(failed.to_string().contains("call tzset()"), "{failed}");
    }
}
