//! Compiles the program for the kernel with clang, and libbpf, which loads it, with the C compiler.
//! Where something is missing, says so in one line and builds without: needless then falls back to
//! ptrace at run time.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rustc-check-cfg=cfg(ebpf)");
    println!("cargo::rerun-if-changed=src/bpf");
    println!("cargo::rerun-if-env-changed=CLANG");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let libraries = match build(&out) {
        Ok(()) => {
            println!("cargo::rustc-cfg=ebpf");
            // In this order: GNU ld looks for what libbpf wants only in what comes after it, and the
            // binding names libbpf last.
            for library in ["bpf", "elf", "z"] {
                println!("cargo::rustc-link-lib={library}");
            }
            out
        }
        Err(missing) => {
            println!("cargo::warning=built without eBPF: {missing}");
            // A file that never is there: looks again at the next build, when it may be installed.
            println!("cargo::rerun-if-changed=src/missing");
            // Nothing refers to what would be in them, but the linker wants them to be there.
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
    let compile = Command::new(&clang)
        .args(["-O2", "-g", "-Wall", "-Werror", "-target", "bpf", "-mcpu=v3", "-nostdinc"])
        .arg(format!("-D__TARGET_ARCH_{architecture}"))
        .arg(format!("-I{}", libbpf.join("src").display()))
        // Paths of the machine that builds do not get into the program.
        .arg(format!("-ffile-prefix-map={}=.", env::var("CARGO_MANIFEST_DIR").unwrap_or_default()))
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
    let probe = out.join("probe.c");
    fs::write(&probe, "#include <gelf.h>\n#include <zlib.h>\n").map_err(|e| e.to_string())?;
    let mut found = cc::Build::new();
    found.cargo_metadata(false).cargo_warnings(false).file(&probe);
    found
        .try_compile("probe")
        .map_err(|_| format!("the headers of libelf or zlib are missing; {INSTALL}"))?;
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
        .include(libbpf.join("src"))
        .include(libbpf.join("include"))
        .include(libbpf.join("include/uapi"))
        .files(sources)
        .try_compile("bpf")
        .map_err(|error| format!("libbpf does not compile: {error}"))
}

/// Where cargo keeps the source of libbpf: in the crate that binds it.
fn libbpf() -> Result<PathBuf, String> {
    // Packages that only tests need may not be here yet: then cargo has to be let fetch them.
    let manifest = listed(&["--offline"]).or_else(|| listed(&[]));
    let manifest = manifest.ok_or("cargo metadata does not tell where libbpf-sys is")?;
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
