//! Reads arguments and answers from the memory of a stopped thread, and writes into it.

use crate::sys::{Tid, read_memory};
use foldhash::fast::FixedState;
use needless_syscalls::Reply;
use nix::errno::Errno;
use nix::sys::ptrace;
use nix::sys::uio::{RemoteIoVec, process_vm_writev};
use nix::unistd::Pid;
use std::hash::BuildHasher;
use std::io::IoSlice;

const PATH_MAX: usize = libc::PATH_MAX as usize;

/// A buffer for paths, reused from stop to stop.
pub(crate) struct PathBuffer(Vec<u8>);

impl PathBuffer {
    pub(crate) fn new() -> PathBuffer {
        PathBuffer(vec![0; PATH_MAX])
    }

    /// The text at `address` of `tid` without its NUL; `None` if it cannot be read or does not
    /// end within `PATH_MAX` bytes.
    pub(crate) fn read(&mut self, tid: Tid, address: u64) -> Option<&[u8]> {
        // Nearly all paths are short; reading PATH_MAX bytes would touch a second page each time.
        const SHORT: usize = 256;
        let mut filled = 0;
        for upto in [SHORT, PATH_MAX] {
            let wanted = &mut self.0[filled..upto];
            let read = read_memory(tid, address.wrapping_add(filled as u64), wanted);
            let end = wanted[..read].iter().position(|b| *b == 0);
            if let Some(end) = end {
                return Some(&self.0[..filled + end]);
            }
            if read < upto - filled {
                return None;
            }
            filled = upto;
        }
        None
    }
}

/// The `u64` at `address`.
pub(crate) fn read_u64(tid: Tid, address: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    (read_memory(tid, address, &mut bytes) == 8).then(|| u64::from_ne_bytes(bytes))
}

/// Writes into the memory of the stopped thread `tid`, also where a private page is not writable. It takes no descriptor,
/// of which there may be no more.
pub(crate) fn write(tid: Tid, address: u64, bytes: &[u8]) -> Result<(), Errno> {
    for (nth, part) in bytes.chunks(8).enumerate() {
        let at = address + 8 * nth as u64;
        let mut word = [0; 8];
        if part.len() < word.len() && read_memory(tid, at, &mut word) < word.len() {
            return Err(Errno::EFAULT);
        }
        word[..part.len()].copy_from_slice(part);
        let at = at as ptrace::AddressType;
        ptrace::write(Pid::from_raw(tid), at, libc::c_long::from_ne_bytes(word))?;
    }
    Ok(())
}

/// Writes into memory that the process may write itself. It may run.
pub(crate) fn write_allowed(tid: Tid, address: u64, bytes: &[u8]) -> Result<(), Errno> {
    let there = RemoteIoVec { base: address as usize, len: bytes.len() };
    let written = process_vm_writev(Pid::from_raw(tid), &[IoSlice::new(bytes)], &[there])?;
    if written == bytes.len() { Ok(()) } else { Err(Errno::EFAULT) }
}

/// A hash of what matters in the answer of a successful call: for a file's status: device, inode,
/// size and modification time; for a link its text. `is_64bit`: the structures of a 64-bit ABI.
pub(crate) fn fingerprint(
    tid: Tid,
    reply: Reply,
    args: &[u64; 6],
    result: u64,
    is_64bit: bool,
) -> Option<u64> {
    // Offset and length of device, inode, size and modification time; asm/stat.h, linux/stat.h.
    const STAT: &[(usize, usize)] = &[(0, 16), (48, 8), (88, 16)];
    const STATX: &[(usize, usize)] = &[(0x20, 16), (0x70, 16), (0x88, 8)];
    const I386_STAT: &[(usize, usize)] = &[(0, 8), (20, 4), (40, 8)];
    const I386_STAT64: &[(usize, usize)] = &[(0, 8), (44, 8), (72, 8), (88, 8)];
    const ARM_STAT64: &[(usize, usize)] = &[(0, 8), (48, 8), (80, 8), (96, 8)];
    let arm = cfg!(target_arch = "aarch64");
    let (address, parts) = match reply {
        Reply::None => return None,
        Reply::Stat(at) if is_64bit => (args[at as usize], STAT),
        Reply::Stat(at) if !arm => (args[at as usize], I386_STAT),
        Reply::Stat(_) => return None,
        Reply::Stat64(at) if arm => (args[at as usize], ARM_STAT64),
        Reply::Stat64(at) => (args[at as usize], I386_STAT64),
        Reply::Statx(at) => (args[at as usize], STATX),
        Reply::Link(at) => {
            let mut text = [0; PATH_MAX];
            let text = text.get_mut(..result as usize)?;
            let whole = read_memory(tid, args[at as usize], text) == text.len();
            return whole.then(|| hash(text));
        }
    };
    let mut bytes = [0; 256];
    let (offset, length) = *parts.last()?;
    let bytes = &mut bytes[..offset + length];
    if read_memory(tid, address, bytes) < bytes.len() {
        return None;
    }
    let mut matter = [0; 64];
    let mut used = 0;
    for (offset, length) in parts {
        matter[used..used + length].copy_from_slice(&bytes[*offset..offset + length]);
        used += length;
    }
    Some(hash(&matter[..used]))
}

/// The hash of what matters in an answer.
pub(crate) fn hash(matter: &[u8]) -> u64 {
    FixedState::default().hash_one(matter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    fn me() -> Tid {
        std::process::id() as Tid
    }

    #[test]
    fn a_text_that_ends_right_before_an_unmapped_page_is_read() {
        // SAFETY: the mapping is new: nothing else refers to it. The 7 bytes are written at 4089 to 4095,
        // which is in the first page, still writable.
        let page = unsafe {
            let page = libc::mmap(
                std::ptr::null_mut(),
                8192,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            assert_ne!(page, libc::MAP_FAILED);
            assert_eq!(libc::mprotect(page.byte_add(4096), 4096, libc::PROT_NONE), 0);
            std::ptr::copy_nonoverlapping(c"/etc/x".as_ptr().cast(), page.byte_add(4089), 7);
            page as u64
        };
        let mut buffer = PathBuffer::new();
        assert_eq!(buffer.read(me(), page + 4089), Some(&b"/etc/x"[..]));
        assert_eq!(buffer.read(me(), page + 4096), None, "unmapped");
        assert_eq!(buffer.read(me(), 0), None, "null");
    }

    #[test]
    fn long_texts_are_read_up_to_path_max() {
        let mut buffer = PathBuffer::new();
        for length in [0, 255, 256, 257, 4000, PATH_MAX - 1] {
            let text = [vec![b'a'; length], vec![0]].concat();
            assert_eq!(buffer.read(me(), text.as_ptr() as u64).map(<[u8]>::len), Some(length));
        }
        let endless = vec![b'a'; 2 * PATH_MAX];
        assert_eq!(buffer.read(me(), endless.as_ptr() as u64), None);
    }

    #[test]
    fn a_file_that_changed_has_another_fingerprint_and_one_that_was_read_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, "one").unwrap();
        let stat = || {
            let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
            // SAFETY: zero bytes are a valid `stat`; stat(2) writes one, and `name` ends with a NUL.
            let status = unsafe {
                let mut status = std::mem::zeroed::<libc::stat>();
                assert_eq!(libc::stat(name.as_ptr(), &raw mut status), 0);
                status
            };
            assert_eq!(status.st_ino, path.metadata().unwrap().ino());
            let args = [0, 0, &raw const status as u64, 0, 0, 0];
            fingerprint(me(), Reply::Stat(2), &args, 0, true).unwrap()
        };
        let first = stat();
        std::fs::read(&path).unwrap();
        assert_eq!(stat(), first);
        std::fs::write(&path, "longer").unwrap();
        assert_ne!(stat(), first);
    }
}
