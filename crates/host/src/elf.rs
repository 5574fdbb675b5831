//! The C library and the language runtime of a program, from its file.

use crate::Root;
use crate::root::Roots;
use needless_model::{Libc, ProcId, Profile, Runtime};
use object::elf::{DT_NEEDED, DT_SONAME, FileHeader32, FileHeader64, PT_INTERP};
use object::read::elf::{ElfFile, FileHeader, ProgramHeader};
use object::{
    Architecture, Endianness, FileKind, Object, ObjectSection, ObjectSymbol, ReadCache, ReadRef,
};
use std::collections::HashMap;
use std::fs::File;

/// Where distributions keep libc.so.6, besides the directory of the program's own linker. A file of another
/// architecture is skipped.
const LIBRARY_DIRS: [&str; 12] = [
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/lib/i386-linux-gnu",
    "/lib/arm-linux-gnueabihf",
    "/lib/riscv64-linux-gnu",
    "/lib/powerpc64le-linux-gnu",
    "/lib/s390x-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib32",
    "/lib",
    "/usr/lib",
];

/// The C library and language runtime of the program in `file`, without the version of GNU libc, which is in another
/// file.
///
/// The C library is recognised by the program's dynamic linker (`PT_INTERP`), Go by the build information that its
/// linker writes, Java and Node by functions that only they define or use. For a script or anything else that is not
/// an ELF file: [`Libc::Unknown`].
pub fn inspect_elf(file: &File) -> (Libc, Runtime) {
    let Ok(file) = file.try_clone() else { return (Libc::Unknown, Runtime::Native) };
    let image = Image::read(file).unwrap_or_default();
    (image.libc, image.runtime)
}

/// Fills in the C library and runtime of every process where they are not known yet and the program can be found
/// below the process's root.
pub fn fill_libcs(profile: &mut Profile, roots: &Roots) {
    Programs::default().fill_libcs(profile, roots);
}

/// The number of our own root: [`Roots::of`].
const OWN_ROOT: usize = 0;
/// Most programs that are kept from one profile to the next.
const PROGRAMS: usize = 4096;

/// What programs were found to be: for profiles of one machine, one after the other.
#[derive(Debug, Default)]
pub struct Programs(HashMap<(usize, String), (Libc, Runtime)>);

impl Programs {
    /// As [`fill_libcs`]. A program below our root is read once.
    pub fn fill_libcs(&mut self, profile: &mut Profile, roots: &Roots) {
        // The next profile has numbers of its own for roots.
        self.0.retain(|(root, _), _| *root == OWN_ROOT);
        if self.0.len() > PROGRAMS {
            self.0.clear();
        }
        for id in (0..profile.processes.len() as u32).map(ProcId) {
            let process = profile.process(id);
            if !matches!(process.libc, Libc::Unknown | Libc::Glibc(None)) {
                continue;
            }
            let Some(exe) = process.exe.clone() else { continue };
            let Some((number, root)) = roots.of(profile, id) else { continue };
            let (libc, runtime) = self
                .0
                .entry((number, exe))
                .or_insert_with_key(|(_, exe)| inspect_program(exe, root, roots.own()))
                .clone();
            let process = &mut profile.processes[id.index()];
            if libc != Libc::Unknown {
                process.libc = libc;
            }
            if process.runtime == Runtime::Native {
                process.runtime = runtime;
            }
        }
    }
}

/// Why `libneedless_localtime.so` is nothing for a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreloadIsUseless {
    /// The reason, in words that follow a colon.
    pub why: String,
    /// Whether the program starts with the library as well as without it, so that what it starts itself can get it: a
    /// wrapper such as `env` or `timeout`.
    pub starts_with_it: bool,
}

/// Why `library`, which is `libneedless_localtime.so`, would change nothing for the program in `file`, or keep it from
/// starting; `None` if it may help. Libraries that the program loads while it runs are not considered.
///
/// # Errors
/// When one of them is not an ELF file.
pub fn why_preload_is_useless(
    file: File,
    library: File,
) -> std::io::Result<Option<PreloadIsUseless>> {
    let image = Image::read(file).ok_or(std::io::ErrorKind::InvalidData)?;
    let library = Image::read(library).ok_or(std::io::ErrorKind::InvalidData)?;
    let why = match (image.runtime, &image.libc) {
        (Runtime::Go, _) => "it is a Go program, which has its own time functions",
        (Runtime::Java, _) => "it is of Java, which has its own time functions",
        (Runtime::Node, _) => "it is of Node or Electron, whose time functions are its own",
        (_, Libc::Static) => "it is statically linked: its C library cannot be replaced",
        (_, Libc::Musl) => "it uses musl, which does not ask whether the zone has changed",
        // The dynamic linker would print a warning on the program's standard error.
        _ if image.machine != library.machine => {
            "it is of another architecture than the library (32 bits, perhaps)"
        }
        (_, Libc::Unknown) => "it does not use the GNU C library",
        // Put before ours in LD_PRELOAD, the runtime would also be in what the program starts, and end that with errors.
        _ if image.asan => {
            "it is built with AddressSanitizer, which does not start behind another library"
        }
        (_, Libc::Glibc(_)) if asks_time(&image) => return Ok(None),
        _ => {
            let why =
                "neither it nor a library that it is linked with calls localtime, ctime or tzset";
            return Ok(Some(PreloadIsUseless { why: why.to_owned(), starts_with_it: true }));
        }
    };
    Ok(Some(PreloadIsUseless { why: why.to_owned(), starts_with_it: false }))
}

/// Whether a program, or a library that it is linked with directly or indirectly, converts times. Libraries are
/// searched where distributions keep them.
fn asks_time(program: &Image) -> bool {
    let mut to_look_at = program.needed.clone();
    let mut at = 0;
    if program.asks_time {
        return true;
    }
    while let Some(name) = to_look_at.get(at).cloned() {
        at += 1;
        // The C library itself, and its dynamic linker.
        if name.starts_with("libc.so") || name.starts_with("ld-") || at > 200 {
            continue;
        }
        let found = LIBRARY_DIRS.iter().find_map(|dir| {
            let image = Image::read(File::open(format!("{dir}/{name}")).ok()?)?;
            (image.machine == program.machine).then_some(image)
        });
        // A library that is elsewhere may.
        let Some(library) = found else { return true };
        if library.asks_time {
            return true;
        }
        for needed in library.needed {
            if !to_look_at.contains(&needed) {
                to_look_at.push(needed);
            }
        }
    }
    false
}

/// The program at `exe` in `root`. The kernel gives the path of a chrooted program as seen from outside, and of one
/// in another mount namespace as seen from inside; so our own root is tried too.
fn inspect_program(exe: &str, root: &Root, own: &Root) -> (Libc, Runtime) {
    let by_name = Runtime::of_exe(exe);
    let Some(file) = root.open(exe).or_else(|_| own.open(exe)).ok() else {
        return (Libc::Unknown, by_name);
    };
    let Some(mut image) = Image::read(file) else { return (Libc::Unknown, by_name) };
    if image.libc == Libc::Glibc(None) {
        image.libc = Libc::Glibc(glibc_version(root, &image));
    }
    (image.libc, if by_name == Runtime::Native { image.runtime } else { by_name })
}

/// What an ELF file says about itself.
#[derive(Debug, Default)]
struct Image {
    libc: Libc,
    runtime: Runtime,
    interpreter: Option<String>,
    machine: Option<(Architecture, bool)>,
    /// Names of the libraries that it is linked with.
    needed: Vec<String>,
    /// Whether it uses one of [`TIME_FUNCTIONS`] of a library.
    asks_time: bool,
    /// Whether it needs AddressSanitizer's runtime from a library.
    asan: bool,
}

/// Functions of the C library that the preloaded library spares a look at `/etc/localtime`.
const TIME_FUNCTIONS: [&[u8]; 3] = [b"localtime", b"ctime", b"tzset"];

impl Image {
    fn read(file: File) -> Option<Image> {
        let cache = ReadCache::new(crate::Pieces::of(file));
        match FileKind::parse(&cache).ok()? {
            FileKind::Elf32 => Image::of::<FileHeader32<Endianness>, _>(&cache),
            FileKind::Elf64 => Image::of::<FileHeader64<Endianness>, _>(&cache),
            _ => None,
        }
    }

    fn of<'data, Elf, R>(data: R) -> Option<Image>
    where
        Elf: FileHeader<Endian = Endianness>,
        R: ReadRef<'data>,
    {
        let file = ElfFile::<'data, Elf, R>::parse(data).ok()?;
        let endian = file.endian();
        let interpreter = file
            .elf_program_headers()
            .iter()
            .find(|segment| segment.p_type(endian) == PT_INTERP)
            .and_then(|segment| segment.interpreter(endian, data).ok()?)
            .map(|path| String::from_utf8_lossy(path).into_owned());
        let libc = match (&interpreter, dynamic_text(&file, DT_SONAME).pop()) {
            (Some(loader), _) => Libc::of_linker(loader),
            // A dynamic linker that is run as a program ("ld-linux-x86-64.so.2 ./app") has no interpreter.
            (None, Some(library)) => Libc::of_linker(&library),
            (None, None) => Libc::Static,
        };
        let machine = Some((file.architecture(), file.is_64()));
        let needed = dynamic_text(&file, DT_NEEDED);
        let imports = |names: &[&[u8]]| {
            file.dynamic_symbols().any(|symbol| {
                symbol.is_undefined() && symbol.name_bytes().is_ok_and(|name| names.contains(&name))
            })
        };
        let (asks_time, asan) = (imports(&TIME_FUNCTIONS), imports(&[b"__asan_init".as_slice()]));
        Some(Image { libc, runtime: runtime(&file), interpreter, machine, needed, asks_time, asan })
    }
}

/// The texts of the dynamic section's entries with this tag.
fn dynamic_text<'data, Elf, R>(file: &ElfFile<'data, Elf, R>, tag: i64) -> Vec<String>
where
    Elf: FileHeader<Endian = Endianness>,
    R: ReadRef<'data>,
{
    let Ok(table) = file.elf_dynamic_table() else { return Vec::new() };
    let entries = table.iter().filter(|entry| entry.tag == tag);
    let texts = entries.filter_map(|entry| table.string(entry).ok());
    texts.map(|text| String::from_utf8_lossy(text).into_owned()).collect()
}

/// The runtime, recognised by what only its programs contain: the name of an application that brings its own copy
/// says nothing.
fn runtime<'data, Elf, R>(file: &ElfFile<'data, Elf, R>) -> Runtime
where
    Elf: FileHeader<Endian = Endianness>,
    R: ReadRef<'data>,
{
    let has = |section: &str| file.section_by_name(section).is_some();
    if has(".go.buildinfo") || has(".note.go.buildid") {
        return Runtime::Go;
    }
    let needed = dynamic_text(file, DT_NEEDED);
    let needs = |library: &str| needed.iter().any(|name| name.starts_with(library));
    if needs("libjli.so") || needs("libjvm.so") {
        return Runtime::Java;
    }
    let offers = |name: &[u8]| {
        let mut symbols = file.dynamic_symbols();
        symbols.any(|symbol| symbol.is_definition() && symbol.name_bytes() == Ok(name))
    };
    // Native add-ons register through it in Node and Electron alike.
    if needs("libnode.so") || offers(b"node_module_register") {
        return Runtime::Node;
    }
    Runtime::Native
}

/// The version of the GNU libc that a program with this linker and architecture gets below `root`, from the banner in
/// the library ("stable release version 2.36.").
fn glibc_version(root: &Root, program: &Image) -> Option<String> {
    let beside = program.interpreter.as_deref()?.rsplit_once('/').map(|(dir, _)| dir);
    let dirs = beside.into_iter().chain(LIBRARY_DIRS);
    dirs.filter_map(|dir| root.open(&format!("{dir}/libc.so.6")).ok()).find_map(|file| {
        let cache = ReadCache::new(crate::Pieces::of(file));
        let library = object::File::parse(&cache).ok()?;
        if program.machine != Some((library.architecture(), library.is_64())) {
            return None;
        }
        version_in(library.section_by_name(".rodata")?.data().ok()?)
    })
}

fn version_in(rodata: &[u8]) -> Option<String> {
    let after = |bytes: &[u8], text: &[u8]| {
        Some(bytes.windows(text.len()).position(|here| here == text)? + text.len())
    };
    let banner = &rodata[after(rodata, b"GNU C Library ")?..];
    let banner = &banner[..banner.len().min(200)];
    let version = &banner[after(banner, b"release version ")?..];
    let end = version.iter().position(|b| !b.is_ascii_digit() && *b != b'.')?;
    let version = std::str::from_utf8(&version[..end]).ok()?.trim_end_matches('.');
    (!version.is_empty()).then(|| version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_banner_gives_the_version() {
        let banner = |text: &str| version_in(format!("\0xyz\0GNU C Library {text}").as_bytes());
        let debian = "(Debian GLIBC 2.36-9+deb12u10) stable release version 2.36.\nCopyright";
        assert_eq!(banner(debian).as_deref(), Some("2.36"));
        let next = "(GNU libc) development release version 2.42.9000.\n";
        assert_eq!(banner(next).as_deref(), Some("2.42.9000"));
        assert_eq!(banner("of unknown age"), None);
        assert_eq!(banner("release version 2.36"), None, "cut off in the middle");
    }
}
