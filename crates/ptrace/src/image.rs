//! What /proc tells of a process right after it exec'd.

use crate::sys::Tid;
use needless_model::{Env, Process, Runtime};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

/// Root directory and mount namespace of a process, as far as they can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Root {
    device: u64,
    inode: u64,
    namespace: u64,
}

impl Root {
    /// Of process `pid` ("self" for our own); `None` where /proc does not tell.
    pub(crate) fn of(pid: &str) -> Option<Root> {
        let root = fs::metadata(format!("/proc/{pid}/root/")).ok()?;
        let namespace = fs::metadata(format!("/proc/{pid}/ns/mnt")).ok()?;
        Some(Root { device: root.dev(), inode: root.ino(), namespace: namespace.ino() })
    }
}

/// An `O_PATH` descriptor of the root directory of `pid`.
pub(crate) fn open_root(pid: Tid) -> Option<OwnedFd> {
    let flags = libc::O_PATH | libc::O_DIRECTORY;
    let file = File::options().read(true).custom_flags(flags).open(format!("/proc/{pid}/root/"));
    Some(file.ok()?.into())
}

/// Fills in what is known of `process` at exec; `watch` names the only variables that are kept.
pub(crate) fn look(process: &mut Process, watch: &[&str]) {
    let pid = process.pid;
    let exe = fs::read_link(format!("/proc/{pid}/exe")).ok();
    process.exe = exe.map(|path| path.to_string_lossy().into_owned());
    if let Some(exe) = &process.exe {
        process.runtime = Runtime::of_exe(exe);
    }
    process.env = match fs::read(format!("/proc/{pid}/environ")) {
        Ok(text) => Env::Known(watched(&text, watch)),
        Err(_) => Env::Unknown,
    };
    process.secure = secure(pid);
}

/// The working directory of thread `tid`, where it has a name.
pub(crate) fn working_directory(tid: Tid) -> Option<String> {
    let path = fs::read_link(format!("/proc/{tid}/cwd")).ok()?;
    let path = path.to_str()?;
    // "(unreachable)/x" from another root; "/x (deleted)".
    let named = path.starts_with('/') && !path.ends_with(" (deleted)");
    named.then(|| path.to_owned())
}

fn watched(environ: &[u8], watch: &[&str]) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for variable in environ.split(|b| *b == 0) {
        let Some(equals) = variable.iter().position(|b| *b == b'=') else { continue };
        let (name, value) = (&variable[..equals], &variable[equals + 1..]);
        let Some(name) = watch.iter().find(|w| w.as_bytes() == name) else { continue };
        // getenv(3) finds the first of several.
        found
            .entry((*name).to_owned())
            .or_insert_with(|| String::from_utf8_lossy(value).into_owned());
    }
    found
}

/// `AT_SECURE` of the auxiliary vector (getauxval(3)), of 64-bit or 32-bit words.
fn secure(pid: u32) -> Option<bool> {
    const AT_SECURE: u64 = 23;
    let mut vector = Vec::new();
    File::open(format!("/proc/{pid}/auxv")).ok()?.read_to_end(&mut vector).ok()?;
    let wide = vector
        .chunks_exact(16)
        .map(|c| (word(&c[..8]), word(&c[8..])))
        .find(|(kind, _)| *kind == AT_SECURE);
    let narrow = || {
        vector
            .chunks_exact(8)
            .map(|c| (word(&c[..4]), word(&c[4..])))
            .find(|(kind, _)| *kind == AT_SECURE)
    };
    wide.or_else(narrow).map(|(_, value)| value != 0)
}

fn word(bytes: &[u8]) -> u64 {
    match bytes.try_into() {
        Ok(eight) => u64::from_ne_bytes(eight),
        Err(_) => u64::from(u32::from_ne_bytes(bytes.try_into().expect("4 bytes"))),
    }
}

/// Whether the program that `pid` runs asks for a privilege at exec that the process did not get.
/// That happens under a tracer without privilege, and with `no_new_privs`.
pub(crate) fn privilege_withheld(process: &Process) -> bool {
    let pid = process.pid;
    let path = format!("/proc/{pid}/exe");
    let Ok(file) = fs::metadata(&path) else { return false };
    let Ok(status) = fs::read_to_string(format!("/proc/{pid}/status")) else { return false };
    let effective = |name: &str| -> Option<u32> {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    const GROUP_EXECUTE: u32 = 0o010;
    let set_user = file.mode() & libc::S_ISUID != 0 && effective("Uid:") != Some(file.uid());
    let set_group = file.mode() & libc::S_ISGID != 0
        && file.mode() & GROUP_EXECUTE != 0
        && effective("Gid:") != Some(file.gid());
    let capable =
        process.secure == Some(false) && effective("Uid:") != Some(0) && has_capabilities(&path);
    (set_user || set_group || capable) && !mounted_without_setuid(&path)
}

fn has_capabilities(path: &str) -> bool {
    let Ok(path) = std::ffi::CString::new(path) else { return false };
    // SAFETY: asks for the size only; both texts end in NUL.
    unsafe {
        libc::getxattr(path.as_ptr(), c"security.capability".as_ptr(), std::ptr::null_mut(), 0) > 0
    }
}

/// On such a file system the bits mean nothing, traced or not.
fn mounted_without_setuid(path: &str) -> bool {
    let Ok(path) = std::ffi::CString::new(path) else { return false };
    let mut about = std::mem::MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: fills one zeroed structure; the text ends in NUL.
    let about = unsafe {
        if libc::statvfs(path.as_ptr(), about.as_mut_ptr()) != 0 {
            return false;
        }
        about.assume_init()
    };
    about.f_flag & libc::ST_NOSUID != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_watched_variables_are_kept_and_the_first_counts() {
        let environ = b"TZ=UTC\0PASSWORD=x\0TZ=Europe/Athens\0LANG\0LC_ALL=\0";
        let found = watched(environ, &["TZ", "LANG", "LC_ALL"]);
        let expected = [("LC_ALL", ""), ("TZ", "UTC")];
        assert_eq!(found, expected.map(|(n, v)| (n.to_owned(), v.to_owned())).into());
    }

    #[test]
    fn our_own_image_is_known() {
        let mut me = Process::new(std::process::id(), None, needless_model::Born::Seen);
        look(&mut me, &[]);
        assert_eq!(me.exe.as_deref(), std::env::current_exe().unwrap().to_str());
        assert_eq!(me.env, Env::Known(BTreeMap::new()));
        assert_eq!(me.secure, Some(false));
        assert!(!privilege_withheld(&me));
        assert_eq!(Root::of("self"), Root::of(&std::process::id().to_string()));
    }
}
