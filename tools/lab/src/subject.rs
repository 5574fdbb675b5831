//! What is measured: the C library's time functions, called in a loop by this very program.
//!
//! The calls go through the dynamic linker, as in any program, so that a preloaded library can replace
//! them. [`crate::measure`] starts it with [`COMMAND`].
//!
//! It is the laboratory itself, and not a C program that a user would have to compile. It checks that the library is
//! mapped: one that could not be loaded must not pass for ours.

use crate::measure::{Spent, usage};
use crate::private;
use nix::sys::resource::UsageWho;
use std::ffi::c_char;
use std::hint::black_box;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The hidden subcommand. It resembles no word that a user may mistype: clap would suggest it.
pub(crate) const COMMAND: &str = "__subject";

/// What `/etc/localtime` can be for a subject, in a private mount namespace: a link to [`TOKYO`], or a copy of
/// it.
pub(crate) const ETC_LOCALTIME: [&str; 2] = ["symlink", "file"];

/// The zone of the riddle of 2015.
pub(crate) const TOKYO: &str = "/usr/share/zoneinfo/Asia/Tokyo";

// The libc crate does not declare these on every target.
unsafe extern "C" {
    fn tzset();
    fn ctime(time: *const i64) -> *const c_char;
}

/// Calls `function` `calls` times and prints what that cost, as [`Spent::line`] writes it. `etc_localtime`: one
/// of [`ETC_LOCALTIME`], made before the calls.
///
/// # Errors
/// One line: there is no such function, or the mount failed.
pub(crate) fn subject(
    function: &str,
    calls: u64,
    etc_localtime: Option<&str>,
) -> Result<(), String> {
    if let Some(what) = etc_localtime {
        make_localtime(what)?;
    }
    if function == "sample" {
        return sample(calls).map_err(|error| format!("cannot print: {error}"));
    }
    let spent = spend(function, calls).ok_or_else(|| format!("{function}: no such function"))?;
    // If the library of LD_PRELOAD could not be loaded, the C library's functions were called.
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let preloaded = maps.contains("libneedless_localtime.so");
    writeln!(std::io::stdout(), "{} {preloaded} {}", spent.line(), library())
        .map_err(|error| format!("cannot print: {error}"))
}

/// The program of the packagecloud article: a line, `calls` times time() and localtime(), a line.
fn sample(calls: u64) -> std::io::Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "Greetings!")?;
    spend("time and localtime", calls);
    writeln!(out, "Godspeed, dear friend!")
}

/// /etc becomes a folder with only localtime in it: the other files there were read at the start.
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

/// The C library of this program, and its version if it has a function for that.
fn library() -> String {
    #[cfg(target_env = "gnu")]
    {
        // SAFETY: the function returns a constant C string that lives as long as the process.
        let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
        format!("glibc {}", version.to_string_lossy())
    }
    #[cfg(not(target_env = "gnu"))]
    "musl".to_owned()
}

/// What `calls` calls of `function` cost. The first converts the time of now, each next one a second later.
fn spend(function: &str, calls: u64) -> Option<Spent> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let now = i64::try_from(now).unwrap_or(0);
    let mut text = [0 as c_char; 64];
    Some(match function {
        "localtime" => repeat(calls, now, second),
        "localtime_r" => {
            // POSIX lets localtime_r ignore TZ; tzset does not.
            // SAFETY: the process has one thread, and nothing changes its environment.
            unsafe { tzset() };
            let mut fields = no_fields();
            // SAFETY: `t` and `fields` are locals that live for the call, and `fields` is writable.
            repeat(calls, now, |t| unsafe {
                libc::localtime_r(&t, &mut fields);
                fields.tm_sec
            })
        }
        "gmtime" => repeat(calls, now, universal),
        "time" => repeat(calls, now, |_| time() as i32),
        "time and localtime" => repeat(calls, now, |_| second(time())),
        "time and gmtime" => repeat(calls, now, |_| universal(time())),
        // SAFETY: the process has one thread, and nothing changes its environment.
        "tzset" => repeat(calls, now, |_| unsafe { tzset() }),
        "mktime" => {
            let mut fields = fields_of(now);
            // SAFETY: `fields` is a writable local; every value of its integers is allowed, and mktime does not
            // read `tm_zone`.
            repeat(calls, now, |_| unsafe { libc::mktime(&mut fields) })
        }
        "strftime" => {
            let (fields, format) = (fields_of(now), c"%Y-%m-%d %H:%M:%S".as_ptr());
            // SAFETY: `text` is as long as the length that is passed, the format ends with NUL, and it has no
            // %Z, for which strftime would read `tm_zone`.
            repeat(calls, now, |_| unsafe {
                libc::strftime(text.as_mut_ptr(), text.len(), format, &fields)
            })
        }
        // SAFETY: `t` lives for the call; the returned pointer is not read.
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
    // SAFETY: time(2) allows a null pointer.
    unsafe { libc::time(std::ptr::null_mut()) }
}

fn second(t: i64) -> i32 {
    // SAFETY: `t` lives for the call; the result is null or the C library's static structure, which no other
    // thread writes: the process has one thread.
    unsafe { libc::localtime(&t).as_ref() }.map_or(0, |fields| fields.tm_sec)
}

fn universal(t: i64) -> i32 {
    // SAFETY: `t` lives for the call; the result is null or the C library's static structure, which no other
    // thread writes: the process has one thread.
    unsafe { libc::gmtime(&t).as_ref() }.map_or(0, |fields| fields.tm_sec)
}

fn fields_of(t: i64) -> libc::tm {
    let mut fields = no_fields();
    // SAFETY: `t` and `fields` are locals that live for the call, and `fields` is writable.
    unsafe { libc::localtime_r(&t, &mut fields) };
    fields
}

fn no_fields() -> libc::tm {
    // SAFETY: the structure has only integers and one raw pointer, for which all zeros are valid values.
    unsafe { std::mem::zeroed() }
}
