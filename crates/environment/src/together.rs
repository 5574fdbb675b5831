//! Changes that are made together: one restart brings them into force, so the unit is down once, and the journal has
//! them as one change.

use crate::activation::Activation;
use crate::checker::check;
use crate::error::EnvironmentError;
use crate::fix::Plan;
use crate::journal::FileChange;
use crate::merge::ChangeRequest;
use crate::places::Edit;
use crate::running::systemd_runs;

/// The changes by what is restarted for them; each other one by itself. In the order in which they come.
pub fn by_restart(changes: Vec<ChangeRequest>) -> Vec<Vec<ChangeRequest>> {
    let restart = |change: &ChangeRequest| {
        let location = &change.location;
        let by_itself = (location.place.next)(location.part.as_deref()).is_some();
        match &location.activation {
            _ if by_itself => None,
            Activation::Restart { .. } if !systemd_runs() => None,
            known @ (Activation::Restart { .. } | Activation::RunScript(..)) => Some(known.clone()),
            _ => None,
        }
    };
    let mut groups: Vec<(Option<Activation>, Vec<ChangeRequest>)> = Vec::new();
    for change in changes {
        let key = restart(&change);
        let of_key = |group: &&mut (Option<Activation>, _)| key.is_some() && group.0 == key;
        match groups.iter_mut().find(of_key) {
            Some((_, group)) => group.push(change),
            None => groups.push((key, vec![change])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

impl Plan {
    /// The plan of `change`, made on top of `earlier` ones, which are not written yet.
    ///
    /// # Errors
    /// When a file of both cannot hold both, or its checker refuses it.
    pub fn on_top_of(
        mut self,
        change: &ChangeRequest,
        earlier: &[FileChange],
    ) -> Result<Plan, EnvironmentError> {
        let location = &change.location;
        for file in &mut self.files {
            let Some(before) = earlier.iter().rfind(|one| one.path == file.path) else { continue };
            let path = &file.path;
            if location.file.as_ref() == Some(path) {
                let (variable, value) = (&change.variable, change.value.as_deref());
                let edit = Edit { variable, value, part: location.part.as_deref() };
                let text = String::from_utf8_lossy(before.after.as_deref().unwrap_or_default());
                let new = location.place.change(&text, &edit);
                let new = new.map_err(|why| format!("{path}: {why}"))?;
                check(location.place, path, &new)?;
                file.after = Some(new.into_bytes());
            } else if before.after != file.after {
                return Err(format!(
                    "{path}: another change of it comes first: make one at a time"
                )
                .into());
            }
            file.before.clone_from(&before.after);
        }
        self.files.retain(|file| file.before != file.after);
        Ok(self)
    }
}

/// What the files become by changes that were planned one on top of the other: each file once.
pub fn in_one(files: Vec<FileChange>) -> Vec<FileChange> {
    let mut all: Vec<FileChange> = Vec::new();
    for file in files {
        match all.iter_mut().find(|one| one.path == file.path) {
            Some(first) => first.after = file.after,
            None => all.push(file),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::FileAttributes;

    /// The journal restores what a file was before the first of the changes, with its permissions.
    #[test]
    fn a_file_of_several_changes_is_one_file() {
        let file = |path: &str, before: Option<&str>, after: &str, mode| FileChange {
            path: path.to_owned(),
            before: before.map(|text| text.as_bytes().to_vec()),
            after: Some(after.as_bytes().to_vec()),
            about: FileAttributes::new(mode),
        };
        let all = in_one(vec![
            file("/a", None, "1", 0o600),
            file("/b", Some("0"), "1", 0o644),
            file("/a", Some("1"), "12", 0o644),
        ]);
        assert_eq!(all, [file("/a", None, "12", 0o600), file("/b", Some("0"), "1", 0o644)]);
    }
}
