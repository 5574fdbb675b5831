//! A variable in the memory of a running program: what getenv(3) would return there now.
//!
//! The C library keeps the environment behind the symbol `environ`. Where the program itself refers to the symbol, it
//! is defined in the program (a copy relocation) and the library's own is unused, so the program is read first. No
//! process is stopped: the array is read twice and must be the same.
//!
//! `/proc/PID/environ` is the block of the last exec; programs change their own environment, and write over the old
//! block (setproctitle). `/proc/PID/mem` needs no unsafe code.

use crate::Mapping;
use crate::ancestry::refused;
use crate::process_image::auxiliary;
use needless_model::Value;
use object::{Object, ObjectSegment, ObjectSymbol, ReadCache};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// Names of `environ` (POSIX, glibc, musl).
const SYMBOLS: [&str; 3] = ["environ", "__environ", "_environ"];
/// The program's name, argv[0]: glibc (`__init_misc`) and musl (`__init_libc`) set it right after `environ`.
const NAMES: [&str; 2] = ["program_invocation_name", "__progname_full"];
/// How often a process is looked at that the loader still prepares, and how long after the last time.
const LOOKS: u32 = 200;
const PAUSE: Duration = Duration::from_millis(10);
/// More variables than execve(2) accepts in practice: then it is not an environment.
const MOST: usize = 65_536;
/// The longest value that is read, bytes; Linux's limit for one string (`MAX_ARG_STRLEN`).
const LONGEST: usize = 128 << 10;

/// The value of `variable` in process `pid`, as its C library has it. Waits up to two seconds for one that is just
/// being started.
pub(crate) fn read(pid: u32, variable: &str) -> Value {
    for _ in 0..LOOKS {
        match find(pid, variable) {
            Ok(Some(value)) => return value,
            Ok(None) => std::thread::sleep(PAUSE),
            Err(why) => return Value::Unknown(why),
        }
    }
    const WHY: &str =
        "no C library has set its environ: its loader still prepares it, or it uses none";
    Value::Unknown(WHY.into())
}

/// `None`: the loader has not set `environ` yet.
fn find(pid: u32, variable: &str) -> Result<Option<Value>, String> {
    let maps = std::fs::read(format!("/proc/{pid}/maps"))
        .map_err(|error| refused("/proc/PID/maps", pid, &error))?;
    let maps = String::from_utf8_lossy(&maps);
    if maps.is_empty() {
        return Err("a kernel thread has no environment".into());
    }
    let memory = File::open(format!("/proc/{pid}/mem"))
        .map_err(|error| refused("/proc/PID/mem", pid, &error))?;
    let (mut found, mut program_read) = (false, false);
    let images = images(&maps, pid);
    if is_before_library(&maps, &images) {
        return Ok(None);
    }
    for image in &images {
        let Some(symbols) = symbols(image, &SYMBOLS) else { continue };
        program_read |= image.is_program;
        for address in symbols {
            found = true;
            // If two reads differ, the program was changing it.
            for _ in 0..8 {
                let look = || read_array(&memory, address, variable, program_read);
                let (first, again) = (look(), look());
                match (first, again) {
                    (Some(Value::Unset), Some(Value::Unset))
                        if word(&memory, address) == Some(0)
                            && is_before_names(&memory, &images) =>
                    {
                        return Ok(None);
                    }
                    (Some(first), Some(again)) if first == again => return Ok(Some(first)),
                    (None, None) => break,
                    _ => {}
                }
            }
        }
    }
    let why = if found && !program_read {
        "its program, which may have an environ of its own, cannot be read"
    } else if found {
        "its environ holds no readable variables"
    } else {
        "no C library's environ was found in it (Go, static and stripped, or another architecture)"
    };
    Err(why.into())
}

/// Whether the program has a loader that has not mapped a C library yet.
fn is_before_library(maps: &str, images: &[Image]) -> bool {
    let [Image { file, is_program: true, .. }] = images else { return false };
    // Its file may be out of reach: replaced, or of another user.
    if Mapping::all(maps).any(|mapping| mapping.path.rsplit('/').next().is_some_and(is_library)) {
        return false;
    }
    let cache = ReadCache::new(crate::Pieces::of(file));
    let elf = object::File::parse(&cache).ok();
    elf.is_some_and(|elf| elf.section_by_name(".interp").is_some())
}

/// Whether a file of this name may be a C library.
fn is_library(name: &str) -> bool {
    ["libc.", "libc-", "ld-musl"].iter().any(|start| name.starts_with(start))
}

/// Whether the C library has not set the program's name yet. Where it has no such name, it is taken to have started.
fn is_before_names(memory: &File, images: &[Image]) -> bool {
    let addresses: Vec<u64> =
        images.iter().filter_map(|image| symbols(image, &NAMES)).flatten().collect();
    // Before its relocation the pointer leads nowhere.
    let is_empty = |address: &u64| {
        let name = word(memory, *address).and_then(|name| text(memory, name));
        name.is_none_or(|name| name.is_empty())
    };
    !addresses.is_empty() && addresses.iter().all(is_empty)
}

/// A mapped file that may define `environ`.
struct Image {
    file: File,
    /// The program, not a library.
    is_program: bool,
    /// The lowest address it is mapped at, of its first page.
    start: u64,
    offset: u64,
}

/// The program first, then libraries that may be a C library.
fn images(maps: &str, pid: u32) -> Vec<Image> {
    let headers = program_headers(pid);
    let mut seen: Vec<&str> = Vec::new();
    let mut images = Vec::new();
    let mut library = Vec::new();
    for Mapping { range, offset, path, .. } in Mapping::all(maps) {
        if !path.starts_with('/') || seen.contains(&path) {
            continue;
        }
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_program = headers.is_some_and(|headers| range.contains(&headers));
        if !is_program && !is_library(name) {
            continue;
        }
        seen.push(path);
        // The file that is mapped, even if it was deleted or is in another mount namespace. Without permission for
        // that, the file of that name below the process's root.
        let file = File::open(format!("/proc/{pid}/map_files/{:x}-{:x}", range.start, range.end))
            .or_else(|_| {
                if is_program {
                    File::open(format!("/proc/{pid}/exe"))
                } else {
                    File::open(format!("/proc/{pid}/root{path}"))
                }
            });
        if let Ok(file) = file {
            let image = Image { file, is_program, start: range.start, offset };
            if is_program { &mut images } else { &mut library }.push(image);
        }
    }
    images.append(&mut library);
    images
}

/// Where the kernel put the program's headers, which shows which mapping is the program's. Names do not show it: for
/// a file of an overlay, in a process with another root, /proc/PID/exe and /proc/PID/maps give different names.
fn program_headers(pid: u32) -> Option<u64> {
    const AT_PHDR: u64 = 3;
    auxiliary(pid, AT_PHDR)
}

/// Where a variable of these names is in the process, by the symbols of one image; `None` where that cannot be read.
fn symbols(image: &Image, names: &[&str]) -> Option<Vec<u64>> {
    let cache = ReadCache::new(crate::Pieces::of(&image.file));
    let elf = object::File::parse(&cache).ok()?;
    if !elf.is_64() || !elf.is_little_endian() {
        return None;
    }
    // The load bias: the difference between where the page is mapped and the address in the file.
    let page = |n: u64| n & !0xfff;
    let stated = elf.segments().find_map(|segment| {
        let (offset, _) = segment.file_range();
        (page(offset) == page(image.offset)).then(|| page(segment.address()))
    });
    let bias = image.start.wrapping_sub(stated?);
    let mut found: Vec<u64> = elf
        .dynamic_symbols()
        .chain(elf.symbols())
        .filter(|symbol| symbol.is_definition() && symbol.address() != 0)
        .filter(|symbol| symbol.name().is_ok_and(|name| names.contains(&plain(name))))
        .map(|symbol| symbol.address().wrapping_add(bias))
        .collect();
    found.sort_unstable();
    found.dedup();
    Some(found)
}

/// A symbol's name without its version.
fn plain(name: &str) -> &str {
    name.split('@').next().unwrap_or(name)
}

/// Reads the array that `environ` at `address` points to; `None` where it is not an environment, or may not be: a
/// library's symbol does not count if the program could not be read first (`!program_read`).
fn read_array(memory: &File, address: u64, variable: &str, program_read: bool) -> Option<Value> {
    let array = word(memory, address)?;
    if array == 0 {
        // clearenv(3) leaves a null pointer. A library's symbol that the program replaces is null too, but then the
        // program's own symbol was found first, if the program was read.
        return program_read.then_some(Value::Unset);
    }
    let wanted = [variable.as_bytes(), b"="].concat();
    for at in 0..MOST {
        let string = word(memory, array.checked_add(8 * at as u64)?)?;
        if string == 0 {
            return Some(Value::Unset);
        }
        let mut start = vec![0; wanted.len()];
        // A shorter string may be at the end of a mapping: it is not the variable.
        if memory.read_exact_at(&mut start, string).is_err() || start != wanted {
            continue;
        }
        return text(memory, string + wanted.len() as u64).map(Value::Set);
    }
    None
}

fn word(memory: &File, at: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    memory.read_exact_at(&mut bytes, at).ok()?;
    Some(u64::from_ne_bytes(bytes))
}

/// The string at `at`, up to its NUL.
fn text(memory: &File, mut at: u64) -> Option<String> {
    let mut bytes = Vec::new();
    while bytes.len() < LONGEST {
        let mut chunk = [0; 256];
        // Up to the end of the page: the next page may not be mapped.
        let room = (4096 - at % 4096).min(256) as usize;
        memory.read_exact_at(&mut chunk[..room], at).ok()?;
        let end = chunk[..room].iter().position(|b| *b == 0);
        bytes.extend_from_slice(&chunk[..end.unwrap_or(room)]);
        if end.is_some() {
            return Some(String::from_utf8_lossy(&bytes).into_owned());
        }
        at += room as u64;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A library's own `environ` is null in a program that defines another.
    #[test]
    fn a_null_environ_says_unset_only_beside_a_program_that_was_read() {
        let memory = File::open("/proc/self/mem").unwrap();
        let null = 0_u64;
        let address = std::ptr::from_ref(&null).addr() as u64;
        assert_eq!(read_array(&memory, address, "TZ", true), Some(Value::Unset));
        assert_eq!(read_array(&memory, address, "TZ", false), None);
    }
}
