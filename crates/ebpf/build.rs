//! Compiles the programs for the kernel with clang, and libbpf, which loads them, with the C compiler.
//! If something is missing, it says so in one line and builds without: needless then uses ptrace.

use needless_model::{ArgClass, Query, WaitsOn};
use std::collections::BTreeSet;
use std::env;
use std::fmt::{Debug, Write};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(ebpf)");
    println!("cargo::rerun-if-changed=src/bpf");
    println!("cargo::rerun-if-changed=src/shared.rs");
    println!("cargo::rerun-if-env-changed=CLANG");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let libraries = match build(&out) {
        Ok(()) => {
            println!("cargo::rustc-cfg=ebpf");
            // In this order: GNU ld looks for the symbols that libbpf needs only in libraries named after
            // it, and libbpf-sys names libbpf last.
            for library in ["bpf", "elf", "z"] {
                println!("cargo::rustc-link-lib={library}");
            }
            out
        }
        Err(missing) => {
            println!("cargo::warning=built without eBPF: {missing}");
            // A file that never exists: the next build looks again, when it may be installed.
            println!("cargo::rerun-if-changed=src/missing");
            // Nothing refers to their content, but the linker requires that they exist.
            let empty = out.join("empty");
            fs::create_dir_all(&empty).expect("OUT_DIR");
            for library in ["bpf", "elf", "z"] {
                fs::write(empty.join(format!("lib{library}.a")), "!<arch>\n").expect("OUT_DIR");
            }
            empty
        }
    };
    println!("cargo::rustc-link-search=native={}", libraries.display());
}

const INSTALL: &str = "on Debian and Ubuntu: apt-get install clang libelf-dev zlib1g-dev";

fn build(out: &Path) -> Result<(), String> {
    let architecture = match env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("x86_64") => "x86",
        Ok("aarch64") => "arm64",
        Ok(other) => return Err(format!("the registers of {other} are not known to needless")),
        Err(_) => return Err("the target is not known".into()),
    };
    let libbpf = libbpf()?;
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".into());
    let object = out.join("needless.bpf.o");
    fs::write(out.join("shared.h"), shared_h()).map_err(|e| e.to_string())?;
    fs::write(out.join("kernel_types.rs"), kernel_types()?).map_err(|e| e.to_string())?;
    let compile = Command::new(&clang)
        .args(["-O2", "-g", "-Wall", "-Werror", "-target", "bpf", "-mcpu=v3", "-nostdinc"])
        .arg(format!("-D__TARGET_ARCH_{architecture}"))
        .arg(format!("-I{}", libbpf.join("src").display()))
        .arg(format!("-I{}", out.display()))
        // Paths of the build machine do not get into the programs.
        .arg(format!("-ffile-prefix-map={}=.", env::var("CARGO_MANIFEST_DIR").unwrap_or_default()))
        .arg(format!("-ffile-prefix-map={}=.", out.display()))
        .arg(format!("-ffile-prefix-map={}=libbpf", libbpf.display()))
        .args(["-c", "src/bpf/needless.bpf.c", "-o"])
        .arg(&object)
        .output();
    match compile {
        Err(error) => return Err(format!("{clang} does not start ({error}); {INSTALL}")),
        Ok(done) if !done.status.success() => {
            let text = String::from_utf8_lossy(&done.stderr);
            let first = text.lines().find(|line| line.contains("error")).unwrap_or("no message");
            return Err(format!("{clang} cannot compile needless.bpf.c: {first}"));
        }
        Ok(_) => {}
    }
    libraries(out)?;
    let mut sources = Vec::new();
    for entry in fs::read_dir(libbpf.join("src")).map_err(|e| e.to_string())? {
        let path = entry.map_err(|e| e.to_string())?.path();
        if path.extension().is_some_and(|ending| ending == "c") {
            sources.push(path);
        }
    }
    sources.sort();
    cc::Build::new()
        .cargo_metadata(false)
        .cargo_warnings(false)
        .warnings(false)
        .opt_level(2)
        .define("_LARGEFILE64_SOURCE", None)
        .define("_FILE_OFFSET_BITS", "64")
        // As above.
        .flag(format!("-ffile-prefix-map={}=libbpf", libbpf.display()))
        .flag(format!("-ffile-prefix-map={}=.", env::var("CARGO_MANIFEST_DIR").unwrap_or_default()))
        .flag(format!("-ffile-prefix-map={}=.", out.display()))
        .include(libbpf.join("src"))
        .include(libbpf.join("include"))
        .include(libbpf.join("include/uapi"))
        .files(sources)
        .try_compile("bpf")
        .map_err(|error| format!("libbpf does not compile: {error}"))?;
    println!("cargo::rustc-env=LIBBPF_VERSION={}", version(&libbpf)?);
    Ok(())
}

/// Whether a C program for the target can be linked with libelf and zlib. Headers alone are not enough: a compiler for
/// another architecture finds those of this machine, and then the linker no libraries.
fn libraries(out: &Path) -> Result<(), String> {
    let probe = out.join("probe.c");
    let program = "#include <gelf.h>\n#include <zlib.h>\n\
        int main(void) { return zlibVersion() != 0 && elf_version(EV_CURRENT) != EV_NONE; }\n";
    fs::write(&probe, program).map_err(|e| e.to_string())?;
    let cc = cc::Build::new().cargo_metadata(false).cargo_warnings(false).try_get_compiler();
    let mut link = cc.map_err(|e| e.to_string())?.to_command();
    link.arg(&probe).args(["-lelf", "-lz", "-o"]).arg(out.join("probe"));
    match link.output() {
        Ok(done) if done.status.success() => Ok(()),
        Ok(_) => Err(format!("libelf or zlib is missing, or their headers; {INSTALL}")),
        Err(error) => Err(format!("the C compiler does not start: {error}")),
    }
}

/// The version of the source of libbpf, without the number of the patch: its header has none.
fn version(libbpf: &Path) -> Result<String, String> {
    let header = libbpf.join("src/libbpf_version.h");
    let text = fs::read_to_string(&header).map_err(|e| format!("{}: {e}", header.display()))?;
    let number = |name: &str| {
        let after = |line: &str| {
            line.strip_prefix("#define LIBBPF_")?.strip_prefix(name)?.trim().parse::<u32>().ok()
        };
        let found = text.lines().find_map(after);
        found.ok_or_else(|| format!("{} has no {name}", header.display()))
    };
    Ok(format!("{}.{}", number("MAJOR_VERSION")?, number("MINOR_VERSION")?))
}

/// src/shared.rs in C, with the numbers of the model's enumerations.
fn shared_h() -> String {
    let mut c = Header("#pragma once\n".into());
    c.enumeration("Query", &Query::ALL.map(|query| named(query, query as u8)));
    c.enumeration("ArgClass", &ArgClass::ALL.map(|class| named(class, class as u8)));
    c.enumeration("WaitsOn", &WaitsOn::ALL.map(|on| named(on, on as u8)));
    define_shared(&mut c);
    c.0
}

/// The names of the kernel's types that src/bpf/kernel.h declares, without what follows three underscores, as a constant.
fn kernel_types() -> Result<String, String> {
    let text = fs::read_to_string("src/bpf/kernel.h").map_err(|e| e.to_string())?;
    let declared = text.lines().filter_map(|line| {
        let name = line.strip_prefix("struct ").or_else(|| line.strip_prefix("enum "))?;
        name.strip_suffix(" {")?.split("___").next()
    });
    let names: BTreeSet<&str> = declared.collect();
    Ok(format!("const KERNEL_TYPES: [&str; {}] = {names:?};\n", names.len())
        .replace('{', "[")
        .replace('}', "]"))
}

fn named(member: impl Debug, number: u8) -> (String, u8) {
    (format!("{member:?}"), number)
}

struct Header(String);

impl Header {
    fn constant(&mut self, name: &str, value: &str) {
        let _ = writeln!(self.0, "#define {name} {value}");
    }

    fn enumeration(&mut self, name: &str, members: &[(String, u8)]) {
        let prefix = upper(name);
        for (member, number) in members {
            let _ = writeln!(self.0, "#define {prefix}_{} {number}", upper(member));
        }
    }

    fn structure(&mut self, name: &str, fields: &[(&str, &str)]) {
        let fields = fields.iter().map(|(name, of)| format!("\t{};\n", declaration(of, name)));
        let _ = writeln!(self.0, "struct {} {{\n{}}};", lower(name), fields.collect::<String>());
    }
}

/// `name` declared as being of the Rust type `of`.
fn declaration(of: &str, name: &str) -> String {
    if let Some((of, length)) =
        of.strip_prefix('[').and_then(|of| of.strip_suffix(']')?.rsplit_once(';'))
    {
        return declaration(of.trim(), &format!("{name}[{}]", length.trim()));
    }
    match (&of[..1], &of[1..]) {
        ("u", bits) => format!("__u{bits} {name}"),
        ("i", bits) => format!("__s{bits} {name}"),
        _ => format!("struct {} {name}", lower(of)),
    }
}

/// `RowKey` as `row_key`.
fn lower(name: &str) -> String {
    let mut text = String::new();
    for (at, letter) in name.chars().enumerate() {
        if letter.is_uppercase() && at > 0 {
            text.push('_');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}

fn upper(name: &str) -> String {
    lower(name).to_uppercase()
}

macro_rules! shared {
    ($($items:tt)*) => {
        fn define_shared(c: &mut Header) {
            items! { c $($items)* }
        }
    };
}

macro_rules! items {
    ($c:ident) => {};
    ($c:ident $(#[$doc:meta])* const $name:ident: $type:ty = $value:literal; $($rest:tt)*) => {
        $c.constant(stringify!($name), stringify!($value));
        items! { $c $($rest)* }
    };
    ($c:ident $(#[$doc:meta])* enum $name:ident { $($member:ident),* } $($rest:tt)*) => {
        {
            #[derive(Debug, Clone, Copy)]
            enum $name { $($member),* }
            $c.enumeration(stringify!($name), &[$(named($name::$member, $name::$member as u8)),*]);
        }
        items! { $c $($rest)* }
    };
    (
        $c:ident $(#[$doc:meta])*
        struct $name:ident { $($(#[$about:meta])* $field:ident: $type:ty,)* }
        $($rest:tt)*
    ) => {
        $c.structure(stringify!($name), &[$((stringify!($field), stringify!($type))),*]);
        items! { $c $($rest)* }
    };
}

include!("src/shared.rs");

/// Where cargo keeps the source of libbpf: in the crate libbpf-sys.
fn libbpf() -> Result<PathBuf, String> {
    // Packages that only tests need may not be downloaded yet: then cargo must be allowed to fetch them.
    let manifest = listed(&["--offline"]).or_else(|| listed(&[]));
    let manifest = manifest.ok_or("cargo metadata does not show where libbpf-sys is")?;
    let source = Path::new(&manifest).with_file_name("libbpf");
    source.join("src/bpf.h").exists().then_some(source).ok_or("libbpf-sys has no libbpf".into())
}

fn listed(options: &[&str]) -> Option<String> {
    let listed = Command::new(env::var_os("CARGO")?)
        .args(["metadata", "--format-version=1", "--locked", "--filter-platform"])
        .arg(env::var_os("TARGET")?)
        .args(options)
        .output()
        .ok()?;
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).ok()?;
    let mut packages = listed["packages"].as_array()?.iter();
    let binding = packages.find(|package| package["name"] == "libbpf-sys")?;
    Some(binding["manifest_path"].as_str()?.to_owned())
}
