//! What an entry of the journal says of a change: `meta.json`.

use super::{FileChange, Journal};
use crate::activation::Activation;
use crate::disk::{FileAttributes, Modified};
use crate::in_force::Expected;
use serde::{Deserialize, Serialize};
use std::path::Path;

#[derive(Serialize, Deserialize)]
pub(super) struct Meta {
    pub(super) version: u32,
    pub(super) what: String,
    pub(super) after: Vec<Activation>,
    pub(super) files: Vec<MetaFile>,
    #[serde(default)]
    pub(super) expected: Option<Expected>,
    /// The same of its other variables, which the same restart brings into force.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) more: Vec<Expected>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct MetaFile {
    pub(super) path: String,
    pub(super) existed: bool,
    pub(super) remains: bool,
    pub(super) about: FileAttributes,
    /// Directories that were made for it, outermost first.
    pub(super) made: Vec<String>,
    /// When the directory above all these was last changed before.
    #[serde(default)]
    pub(super) dir_modified: Option<Modified>,
}

impl MetaFile {
    /// The directory above it and above those that were made for it.
    pub(super) fn dir(&self) -> &str {
        let below = self.made.first().map_or(self.path.as_str(), String::as_str);
        Path::new(below).parent().and_then(Path::to_str).unwrap_or("/")
    }
}

impl Journal {
    /// Of a file that is to be changed.
    pub(super) fn meta_file(&self, file: &FileChange) -> MetaFile {
        let table = file.about.crontab.is_some();
        let made = if table { Vec::new() } else { self.disk.missing(&file.path) };
        let meta = MetaFile {
            path: file.path.clone(),
            existed: file.before.is_some(),
            remains: file.after.is_some(),
            about: file.about.clone(),
            made,
            dir_modified: None,
        };
        let dir_modified = self.disk.dir_modified(meta.dir()).filter(|_| !table);
        MetaFile { dir_modified, ..meta }
    }
}
