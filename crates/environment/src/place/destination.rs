//! A place for a change, and for which process it is looked for.

use super::Place;
use crate::activation::Activation;
use crate::started_by::StartedBy;
use needless_host::{ProcInfo, Root};
use needless_model::{Confidence, Location};

/// A place for a change.
#[derive(Clone, Debug, PartialEq)]
pub struct Destination {
    /// What kind of file it is.
    pub place: &'static Place,
    /// The file, where it is known.
    pub file: Option<String>,
    /// The part of the file.
    pub part: Option<String>,
    /// Its name in output.
    pub label: String,
    /// Why there.
    pub why: String,
    /// How sure.
    pub confidence: Confidence,
    /// What brings a change into force.
    pub activation: Activation,
    /// What else the change reaches: shown before it is made.
    pub caveat: Option<String>,
    /// Whom the change reaches, where its readers were looked for: "one unit: web.service".
    pub reach: Option<String>,
}

impl Destination {
    pub(crate) fn new(
        place: &'static Place,
        file: impl Into<Option<String>>,
        why: impl Into<String>,
        confidence: Confidence,
    ) -> Destination {
        let file = file.into();
        let label = match &file {
            Some(file) => format!("{}, {file}", place.name),
            None => place.name.to_owned(),
        };
        let (part, activation, caveat, reach) = (None, Activation::Unknown, None, None);
        let why = why.into();
        Destination { place, file, part, label, why, confidence, activation, caveat, reach }
    }

    pub(crate) fn activation(mut self, activation: Activation) -> Destination {
        self.activation = activation;
        self
    }

    pub(crate) fn part(mut self, part: impl Into<String>) -> Destination {
        self.part = Some(part.into());
        self
    }

    /// Adds what is to be known of a change there.
    pub(crate) fn caveat(mut self, caveat: &str) -> Destination {
        let before = self.caveat.take().map_or(String::new(), |before| before + " ");
        self.caveat = Some(before + caveat);
        self
    }

    pub(crate) fn summary(&self) -> Location {
        Location {
            place: self.label.clone(),
            file: self.file.clone(),
            why: self.why.clone(),
            confidence: self.confidence,
        }
    }
}

/// A process, or a unit that does not run (then the chain is empty), whose variable is to be changed.
pub(crate) struct LocationQuery<'a> {
    /// The file system as the process sees it.
    pub(crate) root: &'a Root,
    /// The process with its ancestors, itself last.
    pub(crate) chain: &'a [ProcInfo],
    pub(crate) variable: &'a str,
    /// How it got its environment.
    pub(crate) started_by: &'a StartedBy,
}

impl LocationQuery<'_> {
    pub(crate) fn process(&self) -> Option<&ProcInfo> {
        self.chain.last()
    }
}
