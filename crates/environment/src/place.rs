//! What is known of a kind of file that gives processes variables, and a place for a change in such a file.
//!
//! To add a kind, write a file in `places/` with a static [`Place`] and add it to `place_list.rs`. All other
//! code takes what it needs from that definition and names no place.

mod destination;

use crate::activation::{Activation, FindWorker};
use crate::disk::Disk;
use crate::error::EnvironmentError;
use crate::fix::Plan;
use crate::hand_line::{HandLine, hand_line};
use crate::journal::FileChange;
use crate::others_same::others_same;
use crate::places::{self, Edit, FoundValue};
use crate::readers::ReadBy;
use crate::sources::Sources;
use std::collections::BTreeSet;

pub use destination::Destination;
pub(crate) use destination::LocationQuery;

/// A place: a kind of file that gives processes variables.
pub struct Place {
    /// Its name.
    pub name: &'static str,
    /// Where such files are.
    pub files: &'static str,
    /// Which processes it reaches.
    pub reaches: &'static str,
    /// Who reads a file of it.
    pub(crate) read_by: ReadBy,
    /// When a change takes effect.
    pub effect: &'static str,
    /// The program that checks such a file, with its arguments before the file's name; empty where there is none.
    pub check: &'static [&'static str],
    pub(crate) check_style: CheckStyle,
    /// Where a text sets a variable, in a part of it or in all.
    pub(crate) find: fn(&str, &str, Option<&str>) -> Vec<FoundValue>,
    /// The text with a change made.
    pub(crate) put: fn(&str, &Edit<'_>) -> Result<String, EnvironmentError>,
    /// The line that a person adds to such a file, into which no tool writes; `None` where `put` writes.
    pub(crate) by_hand: Option<WriteLine>,
    /// Whether a part of a text can be changed by itself: a service, a job, a pool.
    pub(crate) has_parts: bool,
    /// The names of the parts of a text that have variables of their own; none where it has no such parts.
    pub(crate) parts: fn(&str) -> Vec<String>,
    /// The first line of a text, from 1, by which its reader takes variables from elsewhere for this part, and the word
    /// for that.
    pub(crate) elsewhere: FindElsewhere,
    /// What to know before a change of a text is made.
    pub(crate) caveat: fn(&str, &Edit<'_>) -> Option<String>,
    /// Whether the file with this path and text is of this kind.
    pub(crate) is_file: fn(&FilePath<'_>, &str) -> bool,
    /// Looks for the variable in all files of this kind.
    pub(crate) scan: fn(&mut Sources<'_>),
    /// Where a change belongs, for a process with this way of starting; nothing where this kind does not help.
    pub(crate) locate: fn(&LocationQuery<'_>) -> Vec<Destination>,
    /// Whether it is asked for a location only where no other kind has one.
    pub(crate) last_resort: bool,
    /// What has the file read again after a change.
    pub(crate) reload: &'static Activation,
    /// Finds the process to which a reload of the daemon gives a new environment, or the one that was started `next`; none
    /// where only a restart of the unit does.
    pub(crate) worker: Option<FindWorker>,
    /// What the reader of the file starts by itself for this part of it, with the new environment: "session". None where
    /// something has to be restarted, and where `worker` could not find it.
    pub(crate) next: fn(Option<&str>) -> Option<&'static str>,
    /// Why the reader of the file, asked after the reload, will not use this value of the variable at this place; none
    /// where it will, and where it cannot be asked.
    pub(crate) refuses: AskReader,
    /// Why the reader of such files passes over the one with this path and text.
    pub(crate) unread: fn(&FilePath<'_>, &str) -> Option<&'static str>,
    /// Another file that a change of this one needs.
    pub(crate) companion: fn(&str, &Disk) -> Result<Option<FileChange>, EnvironmentError>,
    /// What such a file sets that is no variable, as a process has it.
    pub(crate) look: Option<LookAt>,
    /// Makes the plan, where the file is no text with values in it.
    pub(crate) make: Option<MakePlan>,
    /// Permission bits of a new file.
    pub(crate) mode: u32,
    /// Whether `put` itself compares all of the new text with the old one.
    pub(crate) compares_all: bool,
    /// Whether the file holds the value; sudoers holds only names.
    pub(crate) holds_value: bool,
    /// Whether it matters where in the file a variable is set: then it is put there again even if it is set somewhere.
    pub(crate) order_matters: bool,
    /// Whether only exported variables reach a program, because a shell sources the file.
    pub(crate) needs_export: bool,
    /// Whether it is read on another machine, or to make an image.
    pub(crate) of_image: bool,
    /// Whether only an existing file is changed.
    pub(crate) needs_file: bool,
    /// Whether it is a file of this machine that reaches processes in containers, which do not see it.
    pub(crate) outside_of_container: bool,
}

/// How the checking program reports a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckStyle {
    /// By its exit status.
    ExitStatus,
    /// By a line that begins with the file's name. Its exit status also depends on other things.
    Lines,
    /// The same, and the file has to be a drop-in of a unit.
    UnitDropIn,
    /// By the exit status of crontab(1), whose option for it depends on whose crontab it is.
    Crontab,
}

type WriteLine = fn(&str, &Edit<'_>) -> Result<HandLine, EnvironmentError>;

type FindElsewhere = fn(&str, Option<&str>) -> Option<(u32, &'static str)>;

/// Whether a process has the value; if not, what it has. `None` where that cannot be read.
pub(crate) type LookAt = fn(u32, &str) -> Option<Result<(), String>>;

type MakePlan = fn(&Destination, &Disk) -> Result<Plan, EnvironmentError>;

type AskReader = fn(&Destination, &str, Option<&str>) -> Option<String>;

/// A path, and how formats recognise it.
pub(crate) struct FilePath<'a>(pub(crate) &'a str);

impl FilePath<'_> {
    pub(crate) fn is(&self, path: &str) -> bool {
        self.0 == path
    }

    /// The last part.
    pub(crate) fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(self.0)
    }

    pub(crate) fn below(&self, dir: &str) -> bool {
        self.0.contains(dir)
    }

    pub(crate) fn ends(&self, ending: &str) -> bool {
        self.name().ends_with(ending)
    }
}

/// In so many places of a line it is tried whether a comment begins there: each time the whole text is read.
const BEGINS: usize = 32;

/// What most formats have in common; each gives the rest.
pub(crate) const DEFAULT: Place = Place {
    name: "",
    files: "",
    reaches: "",
    read_by: ReadBy::Readers,
    effect: "",
    check: &[],
    check_style: CheckStyle::ExitStatus,
    find: |_, _, _| Vec::new(),
    put: |text, _| Ok(text.to_owned()),
    by_hand: None,
    has_parts: false,
    parts: |_| Vec::new(),
    elsewhere: |_, _| None,
    caveat: |_, _| None,
    is_file: |_, _| false,
    scan: |_| (),
    locate: |_| Vec::new(),
    last_resort: false,
    reload: &Activation::Unknown,
    worker: None,
    next: |_| None,
    refuses: |_, _, _| None,
    unread: |_, _| None,
    companion: |_, _| Ok(None),
    look: None,
    make: None,
    mode: 0o644,
    compares_all: false,
    holds_value: true,
    order_matters: false,
    needs_export: false,
    of_image: false,
    needs_file: false,
    outside_of_container: false,
};

impl Place {
    /// Whether it is read on another machine, or to make one.
    pub fn is_of_image(&self) -> bool {
        self.of_image
    }

    /// Where `text` sets `variable`, in the part `part` of it or in all, as the file's reader would take it; the last
    /// one counts.
    pub fn find(&self, text: &str, variable: &str, part: Option<&str>) -> Vec<FoundValue> {
        (self.find)(text, variable, part)
    }

    /// `text` with a change made. Making it again changes nothing; no other variable is touched.
    ///
    /// # Errors
    /// When such a file cannot express it, its reader would not find it in the new text or would find another variable
    /// changed, or it is made by hand: then the message has the line.
    pub fn change(&self, text: &str, edit: &Edit<'_>) -> Result<String, EnvironmentError> {
        places::check(edit.variable, edit.value)?;
        if let Some(by_hand) = self.by_hand(text, edit)? {
            return Err(
                format!("{by_hand}: no tool writes into such a file ({})", self.name).into()
            );
        }
        let new = (self.put)(text, edit)?;
        others_same(self, text, &new, edit)?;
        if !self.holds_value {
            return Ok(new);
        }
        let last = self.find(&new, edit.variable, edit.part).pop();
        let is = last.as_ref().and_then(|found| found.value.as_deref());
        if is != edit.value || last.as_ref().is_some_and(|last| is.is_some() && !last.is_sure()) {
            let doubt = last.and_then(|last| last.reach.doubt());
            let doubt = doubt.map_or(String::new(), |doubt| format!(" ({doubt})"));
            return Err(format!(
                "a line added to that file would not be read as intended{doubt}: set {} by hand",
                edit.variable
            )
            .into());
        }
        // A way of writing it that this reader does not know would stay in force.
        if edit.value.is_none()
            && let Some(line) = self.mentions(&new, edit)
        {
            return Err(format!(
                "line {line} still has {} in it, in a form that is not changed automatically: look at it by hand",
                edit.variable
            )
            .into());
        }
        Ok(self.with_comment(text, &new, edit).unwrap_or(new))
    }

    /// What a person has to do in `text`, where no tool writes into such a file; `None` where a tool does, or nothing is
    /// left to do.
    ///
    /// # Errors
    /// When such a file cannot express it.
    pub(crate) fn by_hand(
        &self,
        text: &str,
        edit: &Edit<'_>,
    ) -> Result<Option<String>, EnvironmentError> {
        let Some(write) = self.by_hand else { return Ok(None) };
        let found = self.find(text, edit.variable, edit.part);
        hand_line(&found, text, edit, write)
    }

    /// Whether a person writes into such a file, and no tool.
    pub(crate) fn is_by_hand(&self) -> bool {
        self.by_hand.is_some()
    }

    /// The line to write, and where it stands, where no tool writes into such a file.
    pub fn line_by_hand(&self, text: &str, edit: &Edit<'_>) -> Option<HandLine> {
        places::check(edit.variable, edit.value).ok()?;
        self.by_hand.and_then(|write| write(text, edit).ok())
    }

    /// The first line of `text` with the variable's name in it: not a comment, and not a line whose place is known to
    /// take the variable away.
    fn mentions(&self, text: &str, edit: &Edit<'_>) -> Option<u32> {
        let found = self.find(text, edit.variable, None);
        let known: BTreeSet<u32> = found.iter().map(|found| found.line).collect();
        let mut lines = (1..).zip(text.lines().map(str::trim_start));
        let unknown = lines.find(|(at, line)| {
            !line.starts_with(['#', ';'])
                && places::names(line, edit.variable)
                && !known.contains(at)
        });
        unknown.map(|(at, _)| at)
    }

    /// `new` with the comment that stood behind the one line that it replaces in `old`: behind the new one, or above
    /// where the format's reader would take it for a part of the value.
    fn with_comment(&self, old: &str, new: &str, edit: &Edit<'_>) -> Option<String> {
        let (was, is) = (places::lines(old), places::lines(new));
        let mut differ = was.iter().zip(&is).enumerate().filter(|(_, (was, is))| was != is);
        let (at, (line, other)) = differ.next().filter(|_| was.len() == is.len())?;
        let bare = places::bare(line);
        let marks = |mark| bare.match_indices(mark).map(|(at, _)| at);
        let mut begins: Vec<usize> = [" #", "\t#", " ;"].into_iter().flat_map(marks).collect();
        begins.sort_unstable();
        let read = |text: &str| -> Vec<Option<String>> {
            let all = self.find(text, edit.variable, edit.part).into_iter();
            all.map(|found| found.value.map(|value| value.trim_end().to_owned())).collect()
        };
        // It is a comment if the reader finds the same without it.
        let without = |begin: usize| places::splice(old, at, at + 1, &[bare[..begin].to_owned()]);
        let value = read(old);
        let is_comment = |begin: &usize| read(&without(*begin)) == value;
        let mut begins = begins.into_iter().take(BEGINS);
        let begin = begins.find(is_comment).filter(|_| differ.next().is_none())?;
        let comment = &bare[begin..];
        if places::bare(other).ends_with(comment) {
            return None;
        }
        let from = bare[..begin].trim_end().len();
        let behind = format!("{}{}", places::bare(other), &bare[from..]);
        let above = [comment.trim().to_owned(), places::bare(other).to_owned()];
        let texts =
            [places::splice(new, at, at + 1, &[behind]), places::splice(new, at, at + 1, &above)];
        texts.into_iter().find(|text| {
            let last = self.find(text, edit.variable, edit.part).pop();
            last.is_some_and(|last| last.is_sure() && last.value.as_deref() == edit.value)
                && others_same(self, old, text, edit).is_ok()
        })
    }
}

impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Place {
    fn eq(&self, other: &Place) -> bool {
        self.name == other.name
    }
}
