//! The two arms: one command in two environments.

use crate::Random;
use needless_launch::Launch;
use needless_model::Change;
use needless_observe::Failure;
use std::ffi::OsString;

/// A variable that no program is known to read. Its length is random in every measured run, in both
/// arms: what is in the environment moves the stack, and where the stack lies can change the speed.
pub const PADDING: &str = "STACK_PADDING";
/// The padding is shorter than this, bytes: a page moves the stack by every offset in one.
const LONGEST: usize = 4096;

type Environment = Vec<(OsString, OsString)>;

/// One of two ways to run the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arm {
    /// As it is.
    Before,
    /// With the change.
    After,
}

/// The command in both arms.
pub(crate) struct Arms {
    launch: Launch,
    before: Environment,
    after: Environment,
}

impl Arms {
    /// `changes` made to the environment of `launch`.
    ///
    /// # Errors
    /// When a change is not one of the environment, or can have no effect.
    pub(crate) fn new(launch: Launch, changes: &[Change]) -> Result<Arms, Failure> {
        let before = launch.env.clone().unwrap_or_else(|| std::env::vars_os().collect());
        let mut after = before.clone();
        for change in changes {
            after = changed(&launch, after, change)
                .map_err(|message| Failure { status: Failure::BAD, message })?;
        }
        Ok(Arms { launch, before, after })
    }

    /// The command of an arm, with `padding` bytes in [`PADDING`], or without that variable.
    pub(crate) fn launch(&self, arm: Arm, padding: Option<usize>) -> Launch {
        let mut env = match arm {
            Arm::Before => self.before.clone(),
            Arm::After => self.after.clone(),
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
        Change::Preload => {
            let library = needless_observe::preload_library().map_err(|failure| failure.message)?;
            needless_observe::preloaded(&Launch { env: Some(env), ..launch.clone() }, library)
        }
        Change::SetEnv { variable, value: None } => Err(format!(
            "{variable}: which value is right could not be found out; give it with --set"
        )),
        Change::Option(text) | Change::Manual(text) => {
            Err(format!("not a change of the environment, to be made by hand: {text}"))
        }
    }
}

/// Whether needless can make this change by itself.
pub fn can_make(change: &Change) -> bool {
    matches!(
        change,
        Change::SetEnv { value: Some(_), .. } | Change::UnsetEnv { .. } | Change::Preload
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arms(changes: &[Change]) -> Arms {
        let env = [("A", "1"), ("TZ", "UTC"), ("B", "2")].map(|(n, v)| (n.into(), v.into()));
        let launch = Launch {
            program: "/bin/true".into(),
            argv: vec!["true".into()],
            env: Some(env.to_vec()),
            stdio: needless_launch::Stdio::Null,
            caller: None,
        };
        Arms::new(launch, changes).unwrap()
    }

    fn names(launch: &Launch) -> Vec<String> {
        let env = launch.env.as_ref().unwrap();
        env.iter().map(|(n, v)| format!("{}={}", n.display(), v.display())).collect()
    }

    #[test]
    fn a_change_keeps_the_place_of_what_was_there() {
        let change = Change::SetEnv { variable: "TZ".into(), value: Some("Asia/Tokyo".into()) };
        let arms = arms(&[change, Change::UnsetEnv { variable: "A".into() }]);
        assert_eq!(names(&arms.launch(Arm::Before, None)), ["A=1", "TZ=UTC", "B=2"]);
        assert_eq!(names(&arms.launch(Arm::After, None)), ["TZ=Asia/Tokyo", "B=2"]);
    }

    #[test]
    fn both_arms_are_padded() {
        let arms = arms(&[]);
        for arm in [Arm::Before, Arm::After] {
            assert_eq!(names(&arms.launch(arm, Some(3))).last().unwrap(), "STACK_PADDING=xxx");
        }
        let mut random = Random::new(7);
        let lengths: Vec<usize> = (0..10_000).map(|_| padding(&mut random)).collect();
        assert!(lengths.iter().all(|length| *length < LONGEST));
        assert!(lengths.iter().any(|l| *l < 40) && lengths.iter().any(|l| *l > LONGEST - 40));
    }

    #[test]
    fn what_is_no_change_of_the_environment_is_refused() {
        let launch = arms(&[]).launch(Arm::Before, None);
        let failed = Arms::new(launch, &[Change::Manual("call tzset()".into())]).err().unwrap();
        assert_eq!(failed.status, Failure::BAD);
        assert!(failed.message.contains("call tzset()"), "{}", failed.message);
    }
}
