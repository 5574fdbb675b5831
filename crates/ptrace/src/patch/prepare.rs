//! What is mapped into a process before its first site is patched: the a page with the process's number, and the
//! table, which is a file in memory that the tracer opens and the process closes.

use super::layout as l;
use super::remote::{Remote, RemoteError};
use super::table::Table;
use super::{RemoteRefusal, labels, thread};
use crate::sys::Tid;
use nix::errno::Errno;
use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::rc::Rc;

/// The name of the file, at the end of the code.
const CALLED: &[u8; 16] = b"needless\0\0\0\0\0\0\0\0";
/// Where it is: code ends here.
pub(crate) const NAME: u64 = l::REGION + l::CODE - CALLED.len() as u64;

const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;

/// Maps what a process needs, with its `number`. `within`: ticks within which a question is repeated.
pub(crate) fn prepare(
    remote: &mut Remote,
    tid: Tid,
    number: u32,
    within: u64,
) -> Result<Rc<RefCell<Table>>, RemoteRefusal> {
    const TAKEN: &str = "there is no room at the address that needless uses";
    map_code(remote, l::REGION, l::CODE)?;
    let done = (|| {
        let written = thread::write(tid, l::REGION, labels::code())
            .and_then(|()| thread::write(tid, NAME, CALLED));
        written
            .map_err(|errno| RemoteRefusal::Remote(errno.into(), "its memory cannot be written"))?;
        map(remote, l::CONTROL, l::PRIVATE - l::CODE, READ_WRITE, None).map_err(because(TAKEN))?;
        let file = Shared::create(remote, tid)?;
        let mapped = map(remote, l::TABLE, l::TABLE_BYTES as u64, READ_WRITE, Some(file.number));
        // Also if it failed.
        let closed = remote.call(libc::SYS_close, [file.number, 0, 0, 0, 0, 0]);
        mapped.map_err(because(TAKEN))?;
        closed.map_err(because("its descriptor cannot be closed"))?;
        let table =
            Table::map(&file.file, within).map_err(refused("its table cannot be mapped"))?;
        thread::write_running(tid, l::CONTROL, number)
            .map_err(refused("its memory cannot be written"))?;
        Ok(Rc::new(RefCell::new(table)))
    })();
    if let Err(RemoteRefusal::Remote(RemoteError::Refused, _) | RemoteRefusal::Site) = &done {
        // Nothing else is there: the addresses were free.
        for (start, length) in [(l::REGION, l::PRIVATE), (l::TABLE, l::TABLE_BYTES as u64)] {
            remote
                .call(libc::SYS_munmap, [start, length, 0, 0, 0, 0])
                .map_err(because("its memory cannot be unmapped"))?;
        }
    }
    done
}

/// Maps memory for code at a free address.
pub(crate) fn map_code(remote: &mut Remote, start: u64, length: u64) -> Result<(), RemoteRefusal> {
    let access = libc::PROT_READ | libc::PROT_EXEC;
    let what = "it may not map code, or the address that needless uses is taken";
    map(remote, start, length, access, None).map_err(because(what))
}

/// Maps memory at a free address: private, or what is in `file`.
fn map(
    remote: &mut Remote,
    start: u64,
    length: u64,
    access: i32,
    file: Option<u64>,
) -> Result<(), RemoteError> {
    let kind =
        if file.is_some() { libc::MAP_SHARED } else { libc::MAP_PRIVATE | libc::MAP_ANONYMOUS };
    let flags = (kind | libc::MAP_FIXED_NOREPLACE) as u64;
    let args = [start, length, access as u64, flags, file.unwrap_or(u64::MAX), 0];
    let mapped = remote.call(libc::SYS_mmap, args)?;
    if mapped == start {
        return Ok(());
    }
    // Before Linux 4.17 the address is a wish.
    remote.call(libc::SYS_munmap, [mapped, length, 0, 0, 0, 0])?;
    Err(Errno::EEXIST.into())
}

/// A file in memory that the process has open and so have we.
struct Shared {
    /// The process's descriptor.
    number: u64,
    file: File,
}

impl Shared {
    fn create(remote: &mut Remote, tid: Tid) -> Result<Shared, RemoteRefusal> {
        let flags = u64::from(libc::MFD_CLOEXEC);
        let number = remote
            .call(libc::SYS_memfd_create, [NAME, flags, 0, 0, 0, 0])
            .map_err(because("it may not create a file in memory"))?;
        let opened =
            OpenOptions::new().read(true).write(true).open(format!("/proc/{tid}/fd/{number}"));
        let opened = opened.and_then(|file| file.set_len(l::TABLE_BYTES as u64).map(|()| file));
        match opened {
            Ok(file) => Ok(Shared { number, file }),
            Err(_) => {
                remote
                    .call(libc::SYS_close, [number, 0, 0, 0, 0, 0])
                    .map_err(because("its descriptor cannot be closed"))?;
                Err(RemoteRefusal::Remote(Errno::EACCES.into(), "its files cannot be opened"))
            }
        }
    }
}

fn because(what: &'static str) -> impl FnOnce(RemoteError) -> RemoteRefusal {
    move |error| RemoteRefusal::Remote(error, what)
}

fn refused(what: &'static str) -> impl FnOnce(Errno) -> RemoteRefusal {
    move |errno| RemoteRefusal::Remote(errno.into(), what)
}
