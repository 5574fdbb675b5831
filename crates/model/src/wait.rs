//! Calls that waited.

use crate::{CallId, Errno, ProcId};

/// What the descriptor of a call is: its first argument, or the first one that poll(2) was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum WaitsOn {
    /// The call has no descriptor, or it is none of these.
    Unknown,
    /// A pipe or FIFO.
    Pipe,
    /// A terminal.
    Terminal,
    /// A socket.
    Socket,
    /// A socket that is connected to port 53: a name server.
    NameServer,
    /// A file, a directory or a block device.
    File,
}

impl WaitsOn {
    /// All, in declaration order.
    pub const ALL: [WaitsOn; 6] = [
        WaitsOn::Unknown,
        WaitsOn::Pipe,
        WaitsOn::Terminal,
        WaitsOn::Socket,
        WaitsOn::NameServer,
        WaitsOn::File,
    ];
}

/// Calls that gave up their CPU before they returned: process × call × outcome × descriptor. Each is also counted in a
/// [`Row`](crate::Row).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The process.
    pub process: ProcId,
    /// The call by its kernel name.
    pub call: CallId,
    /// Ok, or the error.
    pub outcome: Result<(), Errno>,
    /// What its descriptor is.
    pub on: WaitsOn,
    /// How many calls.
    pub calls: u64,
    /// How long they took, nanoseconds. Threads that waited at the same time are added up.
    pub ns: u64,
}
