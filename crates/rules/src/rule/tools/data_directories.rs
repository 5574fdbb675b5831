//! ## What it finds
//!
//! Directories of XDG_DATA_DIRS in which programs look for themes, icons, descriptions of file
//! types and settings, and find nothing.
//!
//! ## Why it happens
//!
//! Programs look for each kind of data in each directory under several names. Package managers
//! other than the system's (Flatpak, Snap, Nix, Guix) add their directories to the list, even if
//! nothing is installed from them.
//!
//! ## Example
//!
//! ```trace
//! env XDG_DATA_DIRS=/var/lib/a/share:/var/lib/b/share:/usr/share
//! execve("/usr/bin/gtk-app", ["gtk-app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! newfstatat(AT_FDCWD, "/var/lib/a/share/icons", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/var/lib/a/share/themes", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/var/lib/a/share/mime/mime.cache", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/var/lib/a/share/applications", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/var/lib/b/share/icons", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/var/lib/b/share/themes", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/var/lib/b/share/mime/mime.cache", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/var/lib/b/share/applications", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/usr/share/icons", {st_mode=S_IFDIR|0755, st_size=60, ...}, 0) = 0
//! ```
//! ```finding
//! data-directories: 8 of 8
//! set XDG_DATA_DIRS=/usr/share
//! ```
//!
//! ## Not a finding
//!
//! Directories that hold something, and those of the system:
//!
//! ```trace
//! env XDG_DATA_DIRS=/var/lib/a/share:/usr/local/share:/usr/share
//! execve("/usr/bin/gtk-app", ["gtk-app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! newfstatat(AT_FDCWD, "/usr/local/share/a", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/usr/local/share/b", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/usr/local/share/c", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/usr/local/share/d", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/usr/local/share/e", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/usr/local/share/f", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/usr/local/share/g", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/usr/local/share/h", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/var/lib/a/share/icons", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/var/lib/a/share/mime/mime.cache", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Take the directories out of XDG_DATA_DIRS. Keep them if programs will be installed there: menus
//! do not show those programs until the variable is set again.
//!
//! ## References
//!
//! * <https://specifications.freedesktop.org/basedir-spec/latest/>
//! * <https://github.com/NixOS/nixpkgs/issues/131159>: 10,000 opens at one start

use crate::Rule;
use crate::lists::Search;

pub(crate) const RULE: Rule = Rule {
    name: "data-directories",
    summary: "XDG_DATA_DIRS lists directories that hold nothing of what desktop programs look for",
    variables: &["XDG_DATA_DIRS"],
    lists: &[LIST],
    ..Rule::PLAIN
};

const LIST: Search = Search {
    variable: "XDG_DATA_DIRS",
    things: "data of the desktop",
    why: "Programs look for each kind of data in each directory of the list.",
    caveat: "Programs that are installed below these directories later are not found in menus.",
    ..Search::BY_PROGRAM
};
