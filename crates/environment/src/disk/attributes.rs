//! What a file has besides its bytes, and what a change of it keeps.

use rustix::fs;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs::File;

/// Owner, permissions and extended attributes of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileAttributes {
    /// Permission bits.
    pub mode: u32,
    /// Owner; `None`: the user who writes it.
    pub owner: Option<(u32, u32)>,
    /// Extended attributes, security labels and ACLs among them.
    pub attributes: Vec<(String, Vec<u8>)>,
    /// Whether it is a symbolic link; then its bytes are the target.
    #[serde(default)]
    pub link: bool,
    /// The user whose table it is, where crontab(1) reads and writes it.
    #[serde(default)]
    pub crontab: Option<String>,
    /// When its bytes were last changed, seconds and nanoseconds since 1970; `None`: now.
    #[serde(default)]
    pub modified: Option<(i64, i64)>,
}

impl FileAttributes {
    /// For a new file.
    pub fn new(mode: u32) -> FileAttributes {
        FileAttributes { mode, ..FileAttributes::default() }
    }

    /// Whether owner, permissions and attributes are the same.
    pub(crate) fn is_same(&self, other: &FileAttributes) -> bool {
        let of = |one: &FileAttributes| {
            let mut attributes = one.attributes.clone();
            attributes.sort();
            (one.mode, one.owner, attributes)
        };
        of(self) == of(other)
    }

    /// For a new symbolic link.
    pub fn link() -> FileAttributes {
        FileAttributes { link: true, ..FileAttributes::default() }
    }
}

/// The extended attributes of an open file; none where its file system has none.
pub(super) fn attributes(file: &File) -> Result<Vec<(String, Vec<u8>)>, Errno> {
    // The kernel's own limits: XATTR_LIST_MAX and XATTR_SIZE_MAX, xattr(7).
    let mut names = Vec::with_capacity(65_536);
    match fs::flistxattr(file, rustix::buffer::spare_capacity(&mut names)) {
        Ok(_) => {}
        Err(Errno::NOTSUP) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    }
    let mut found = Vec::new();
    for name in names.split(|b| *b == 0).filter(|name| !name.is_empty()) {
        let Ok(name) = std::str::from_utf8(name) else { continue };
        let mut value = Vec::with_capacity(65_536);
        fs::fgetxattr(file, name, rustix::buffer::spare_capacity(&mut value))?;
        found.push((name.to_owned(), value));
    }
    Ok(found)
}
