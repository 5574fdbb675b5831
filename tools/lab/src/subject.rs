//! What is measured: the C library's time functions, called in a loop by this very program.
//!
//! The calls go through the dynamic linker like those of any program, so that a preloaded library
//! takes them. Reached by [`SUBJECT`], which is for [`crate::measure`] alone.

use crate::measure::{Spent, usage};
use crate::private;
use nix::sys::resource::UsageWho;
use std::ffi::c_char;
use std::hint::black_box;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The subcommand of needless that is a subject. Like no word that a user may mistype: it would be
/// offered as what was meant.
pub const SUBJECT: &str = "__subject";

/// What `/etc/localtime` may be made for a subject, in a mount namespace of its own: a link to the zone
/// file of [`TOKYO`], or a copy of it.
pub const ETC_LOCALTIME: [&str; 2] = ["symlink", "file"];

/// The zone of the riddle of 2015.
pub(crate) const TOKYO: &str = "/usr/share/zoneinfo/Asia/Tokyo";

// Those that the libc crate does not declare on every target.
unsafe extern "C" {
    fn tzset();
    fn ctime(time: *const i64) -> *const c_char;
}

/// Calls `function` `calls` times and prints what that took, as [`Spent`] reads it. `etc_localtime`: one
/// of [`ETC_LOCALTIME`], made before.
///
/// # Errors
/// One line: there is no such function, or what must be mounted cannot be.
pub fn subject(function: &str, calls: u64, etc_localtime: Option<&str>) -> Result<(), String> {
    if let Some(what) = etc_localtime {
        make_localtime(what)?;
    }
    if function == "sample" {
        return sample(calls).map_err(|error| format!("cannot print: {error}"));
    }
    let spent = spend(function, calls).ok_or_else(|| format!("{function}: no such function"))?;
    // What was asked for in LD_PRELOAD and could not be loaded leaves the C library's own functions.
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let engine = maps.contains("libneedless_localtime.so");
    writeln!(std::io::stdout(), "{} {engine} {}", spent.line(), library())
        .map_err(|error| format!("cannot print: {error}"))
}

/// The program of the packagecloud article: a line, `calls` times time() and localtime(), a line.
fn sample(calls: u64) -> std::io::Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "Greetings!")?;
    spend("time and localtime", calls);
    writeln!(out, "Godspeed, dear friend!")
}

/// /etc becomes a folder with nothing but localtime: what else is in it was read already.
fn make_localtime(what: &str) -> Result<(), String> {
    let zone = std::fs::read(TOKYO)
        .map_err(|error| format!("{TOKYO}: {error}; the package tzdata has it"))?;
    private::enter()?;
    private::cover(Path::new("/etc"))?;
    let made = match what {
        "symlink" => symlink(TOKYO, "/etc/localtime"),
        _ => std::fs::write("/etc/localtime", zone),
    };
    made.map_err(|error| format!("cannot make a private /etc/localtime: {error}"))
}

/// The C library of this program, and its version where it tells.
fn library() -> String {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: returns a constant text that lives as long as the process.
        let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
        format!("glibc {}", version.to_string_lossy())
    }
    #[cfg(not(target_env = "gnu"))]
    "musl".to_owned()
}

/// What `calls` calls of `function` take. Each call is of a moment one second later, from now on.
fn spend(function: &str, calls: u64) -> Option<Spent> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let now = i64::try_from(now).unwrap_or(0);
    let mut text = [0 as c_char; 64];
    Some(match function {
        "localtime" => repeat(calls, now, second),
        "localtime_r" => {
            // POSIX has localtime_r look at TZ only if it wants to.
            // SAFETY: this process has one thread, and nothing changes its environment.
            unsafe { tzset() };
            let mut fields = no_fields();
            // SAFETY: both point to memory of ours that lives for the call.
            repeat(calls, now, |t| unsafe {
                libc::localtime_r(&t, &mut fields);
                fields.tm_sec
            })
        }
        "gmtime" => repeat(calls, now, universal),
        "time" => repeat(calls, now, |_| time() as i32),
        "time and localtime" => repeat(calls, now, |_| second(time())),
        "time and gmtime" => repeat(calls, now, |_| universal(time())),
        // SAFETY: one thread, and nothing changes the environment.
        "tzset" => repeat(calls, now, |_| unsafe { tzset() }),
        "mktime" => {
            let mut fields = fields_of(now);
            // SAFETY: `fields` is ours, and valid for every value of its members.
            repeat(calls, now, |_| unsafe { libc::mktime(&mut fields) })
        }
        "strftime" => {
            let (fields, format) = (fields_of(now), c"%Y-%m-%d %H:%M:%S".as_ptr());
            // SAFETY: the buffer's length is told, the format ends with NUL, tm_zone of `fields` is
            // what the C library put there.
            repeat(calls, now, |_| unsafe {
                libc::strftime(text.as_mut_ptr(), text.len(), format, &fields)
            })
        }
        // SAFETY: the argument lives for the call; the text that comes back is not read.
        "ctime" => repeat(calls, now, |t| unsafe { ctime(&t) }),
        _ => return None,
    })
}

fn repeat<T>(calls: u64, now: i64, mut call: impl FnMut(i64) -> T) -> Spent {
    let (before, clock) = (usage(UsageWho::RUSAGE_SELF), Instant::now());
    for at in 0..calls {
        black_box(call(black_box(now.wrapping_add_unsigned(at))));
    }
    let real = clock.elapsed();
    Spent::between(&before, &usage(UsageWho::RUSAGE_SELF), real)
}

fn time() -> i64 {
    // SAFETY: a null pointer is what time(2) allows.
    unsafe { libc::time(std::ptr::null_mut()) }
}

fn second(t: i64) -> i32 {
    // SAFETY: the argument lives for the call; the result is null or the C library's static structure,
    // which no other thread writes, since there is none.
    unsafe { libc::localtime(&t).as_ref() }.map_or(0, |fields| fields.tm_sec)
}

fn universal(t: i64) -> i32 {
    // SAFETY: as for `second`.
    unsafe { libc::gmtime(&t).as_ref() }.map_or(0, |fields| fields.tm_sec)
}

fn fields_of(t: i64) -> libc::tm {
    let mut fields = no_fields();
    // SAFETY: both point to memory of ours that lives for the call.
    unsafe { libc::localtime_r(&t, &mut fields) };
    fields
}

fn no_fields() -> libc::tm {
    // SAFETY: integers and one pointer, for all of which zero is a value (the pointer's is null).
    unsafe { std::mem::zeroed() }
}
