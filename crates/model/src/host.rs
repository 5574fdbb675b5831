//! What rules need to know about the machine, as data: `host` and `observe` look it up, rules read it.

/// What a name such as `/etc/localtime` is on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ZoneFile {
    /// A symbolic link, with its text.
    Link(String),
    /// A regular file with a valid zone.
    Regular,
    /// It does not exist, or is a dangling link.
    Missing,
    /// It exists, but is not a zone: empty, a directory, other data.
    NotAZone(String),
}

/// The time zone that programs without TZ get below one root directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemZone {
    /// What /etc/localtime is.
    pub file: ZoneFile,
    /// The IANA name ("Europe/Athens", "UTC") to recommend: it exists below that root and gives
    /// the same local times as /etc/localtime at every transition from 1843 to 2200.
    pub name: Option<String>,
    /// How the name was found ("the link", "same contents as", "/etc/timezone"), or why none can
    /// be recommended.
    pub how: String,
    /// Whether the tz database is installed.
    pub tzdata: bool,
}

/// What one spelling of a locale name costs a program that starts on this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spelling {
    /// The value, as for LC_ALL ("C.utf8").
    pub name: String,
    /// Failed opens of locale files per program start, the locale archive's included.
    pub failed_opens: u64,
    /// System calls of the whole probe program.
    pub total_calls: u64,
    /// Whether the C library accepted it.
    pub accepted: bool,
    /// The character encoding it gives (`locale charmap`), "" where not accepted.
    pub charmap: String,
}

/// The result for one requested locale name: each spelling that was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocaleProbe {
    /// The value that the program had.
    pub requested: String,
    /// That value and its alternatives, as measured.
    pub spellings: Vec<Spelling>,
}

/// What one call of a kind costs on this host, untraced, in nanoseconds: measured in a short loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// stat of /etc/localtime, or of / where that is missing.
    pub stat_ns: u64,
    /// open of a file that does not exist.
    pub failed_open_ns: u64,
    /// open, read and close of a small file.
    pub open_ns: u64,
    /// read of a directory: a call without a path that fails at once.
    pub refused_ns: u64,
    /// read of a byte of an open file in memory.
    pub read_ns: u64,
    /// write of a byte to an open file in memory.
    pub write_ns: u64,
    /// Any other call without a path: lseek of that file, which does little. Few calls cost less.
    pub call_ns: u64,
    /// A page of memory that is mapped, written to for the first time, and given back; 0: not measured, because no
    /// program gave back much.
    pub page_ns: u64,
}

impl Costs {
    /// The same cost for each kind, nanoseconds.
    pub const fn each(ns: u64) -> Costs {
        Costs {
            stat_ns: ns,
            failed_open_ns: ns,
            open_ns: ns,
            refused_ns: ns,
            read_ns: ns,
            write_ns: ns,
            call_ns: ns,
            page_ns: ns,
        }
    }
}

/// A file system and where it is mounted, in the observer's own mount namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The directory.
    pub at: String,
    /// Its type as the kernel names it ("ext4", "nfs4", "fuse.sshfs").
    pub kind: String,
}

/// What an entry of a list of directories is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directory {
    /// It does not exist.
    Missing,
    /// It exists, and is no directory.
    File,
    /// It is a directory; what it holds is not known.
    Listed,
    /// It is empty.
    Empty,
    /// It holds something.
    Filled,
}

/// The machine and what was looked up on it for the rules.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// `uname -m` ("x86_64"), "" where not known.
    pub machine: String,
    /// The zone below the observer's own root.
    pub zone: Option<SystemZone>,
    /// Zones of processes with another root or mount namespace.
    pub other_zones: Vec<(crate::ProcId, SystemZone)>,
    /// Locale names asked for, and what the host does with them.
    pub locales: Vec<LocaleProbe>,
    /// Files that TZ names, below the observer's own root: whether each is a zone.
    pub zone_files: std::collections::BTreeMap<String, bool>,
    /// Entries of lists ([`SearchList`](crate::SearchList)) below the observer's own root; of a log, which was perhaps made
    /// elsewhere, the directories that it shows to be directories.
    pub directories: std::collections::BTreeMap<String, Directory>,
    /// The kernel's source of time ("tsc"); looked up only if programs asked for the time by calls.
    pub clock_source: Option<String>,
    /// Measured cost of calls; without it, savings are given in calls only.
    pub costs: Option<Costs>,
    /// The mounts, of several at one place the last one; looked up only where the time of calls was measured.
    pub mounts: Vec<Mount>,
}

impl Host {
    /// The zone facts that hold for process `p`, whose root is the observer's own if `shares_root`.
    pub fn zone_of(&self, p: crate::ProcId, shares_root: bool) -> Option<&SystemZone> {
        match self.other_zones.iter().find(|(id, _)| *id == p) {
            Some((_, zone)) => Some(zone),
            None if shares_root => self.zone.as_ref(),
            None => None,
        }
    }
}
