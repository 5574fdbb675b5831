//! A change as the journal has it.

use crate::activation::Activation;
use crate::disk::FileAttributes;
use crate::error::EnvironmentError;
use crate::in_force::Expected;

/// A file with its bytes before and after a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// Its path, absolute.
    pub path: String,
    /// Its bytes before; `None` where the file does not exist.
    pub before: Option<Vec<u8>>,
    /// Its bytes after; `None` where the file is removed.
    pub after: Option<Vec<u8>>,
    /// Permissions, owner and attributes: of the existing file, or for a new one.
    pub about: FileAttributes,
}

/// A change that was made, or begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalEntry {
    /// Its number, from 1.
    pub id: u32,
    /// What it does, in one line.
    pub what: String,
    /// What has it, or its undoing, take effect.
    pub after: Vec<Activation>,
    /// How far it got.
    pub state: ChangeState,
    /// Whether the last of them restarts its process, to take the change from it.
    pub restarted: bool,
    /// Whether that was done for that state, or there are none.
    pub announced: bool,
    /// The files that it changed.
    pub paths: Vec<String>,
    /// What it is to bring about in a process, where that is known: one for each variable, all by the same restart.
    pub expected: Vec<Expected>,
    /// Whether its process is being restarted with it, or was, and nobody has looked since.
    pub on_trial: bool,
}

/// The changes of a journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entries {
    /// Oldest first.
    pub readable: Vec<JournalEntry>,
    /// Numbers of the changes that cannot be read or are not trusted, and why.
    pub unreadable: Vec<(u32, EnvironmentError)>,
}

/// How far a change got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeState {
    /// It is in effect.
    Applied,
    /// It was undone.
    Undone,
    /// It was not finished and was rolled back.
    RolledBack,
    /// It was begun, and neither finished nor rolled back yet.
    Begun,
    /// Its undoing was begun and could not be finished yet.
    Undoing,
    /// The user wants no undo of it: its files are as somebody left them.
    Forgotten,
}

impl ChangeState {
    /// Whether it is history: nothing of it is in effect any more, or is to be undone.
    pub(super) fn is_over(self) -> bool {
        matches!(self, ChangeState::Undone | ChangeState::RolledBack | ChangeState::Forgotten)
    }
}

/// What was done about a change that an earlier run did not finish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// The change, as it is now.
    pub entry: JournalEntry,
    /// How it was finished, or why that is not possible yet.
    pub how: Result<&'static str, EnvironmentError>,
}

impl std::fmt::Display for Recovered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let JournalEntry { id, what, .. } = &self.entry;
        match &self.how {
            Ok(how) => write!(f, "change {id} ({what}) {how}"),
            Err(why) => {
                write!(f, "change {id} ({what}) was interrupted and cannot be finished yet: {why}")
            }
        }
    }
}
