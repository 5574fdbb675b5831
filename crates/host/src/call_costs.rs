//! What a system call costs on this host, measured before anything is traced.

use needless_model::Costs;
use rustix::fs::{CWD, MemfdFlags, Mode, OFlags, SeekFrom, memfd_create, openat, seek, stat};
use rustix::io::{pread, pwrite, read};
use std::os::fd::OwnedFd;

/// Loops of each kind. The least counts: interrupts, and what else runs on the machine, only add to it.
const LOOPS: usize = 5;

/// Calls in one loop: about 0.1 ms on a slow machine. All loops together make fewer calls than a rule reports, since
/// `needless host` also sees other runs of needless.
const CALLS: u32 = 30;

/// Measures the calls that rules count most, each in five short loops. Takes less than 2 ms.
pub fn measure_call_costs() -> Costs {
    let name = ["/etc/localtime", "/"].into_iter().find(|path| stat(*path).is_ok()).unwrap_or("/");
    let file = ["/etc/localtime", "/proc/self/exe"].into_iter().find(|path| open(path));
    let mut some = [0; 16];
    let root = openat(CWD, "/", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    let memory = memfd_create("needless", MemfdFlags::CLOEXEC).ok();
    let memory = memory.filter(|fd| pwrite(fd, &[0; 16], 0).is_ok());
    let of_memory =
        |call: &dyn Fn(&OwnedFd) -> bool| memory.as_ref().map_or(0, |fd| least(|| call(fd)));
    Costs {
        stat_ns: least(|| stat(name).is_ok()),
        failed_open_ns: least(|| open("/usr/lib/no-such-directory/no-such-file")),
        open_ns: least(|| {
            let flags = OFlags::RDONLY | OFlags::CLOEXEC;
            let found = openat(CWD, file.unwrap_or("/"), flags, Mode::empty());
            found.is_ok_and(|fd| read(fd, &mut some).is_ok())
        }),
        refused_ns: root.map_or(0, |fd| least(|| read(&fd, &mut [0; 16]).is_ok())),
        read_ns: of_memory(&|fd| pread(fd, &mut [0], 0).is_ok()),
        write_ns: of_memory(&|fd| pwrite(fd, &[0], 0).is_ok()),
        call_ns: of_memory(&|fd| seek(fd, SeekFrom::Start(0)).is_ok()),
        page_ns: 0,
    }
}

/// Measures [`Costs::page_ns`]. Takes some 10 ms.
pub fn measure_page_cost() -> u64 {
    // More than a processor's cache, and of a block so large that malloc maps it.
    const PAGES: usize = 2048;
    const BLOCK: usize = 64 << 20;
    let mut loops = [0; 3].map(|_: u64| {
        let start = on_processor();
        let mut block = vec![0_u8; BLOCK];
        for page in block.chunks_mut(rustix::param::page_size()).take(PAGES) {
            page[0] = 1;
        }
        drop(std::hint::black_box(block));
        on_processor().saturating_sub(start) / PAGES as u64
    });
    loops.sort_unstable();
    loops[1]
}

/// CPU time of this thread, in nanoseconds: waiting for a processor does not count.
fn on_processor() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    (time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64)
}

fn open(path: &str) -> bool {
    openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).is_ok()
}

/// Nanoseconds per call.
fn least(mut call: impl FnMut() -> bool) -> u64 {
    // The first call fills the caches.
    std::hint::black_box(call());
    let loops = [(); LOOPS].map(|()| {
        let start = on_processor();
        for _ in 0..CALLS {
            std::hint::black_box(call());
        }
        on_processor().saturating_sub(start) / u64::from(CALLS)
    });
    loops.into_iter().min().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_cost_something() {
        let costs = measure_call_costs();
        let Costs { stat_ns, failed_open_ns, open_ns, refused_ns, .. } = costs;
        let Costs { read_ns, write_ns, call_ns, .. } = costs;
        let all = [stat_ns, failed_open_ns, open_ns, refused_ns, read_ns, write_ns, call_ns];
        assert!(all.iter().all(|cost| *cost > 0), "{costs:?}");
        assert!(measure_page_cost() > 0);
    }
}
