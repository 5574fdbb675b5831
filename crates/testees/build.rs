//! Compiles `c/*.c` with the C compilers of the machine. What cannot be compiled is no error: the
//! tests that need it say why they are skipped.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A way to compile: the suffix of the result's name, the compiler, its extra options.
struct Variant {
    suffix: &'static str,
    compiler: String,
    options: &'static [&'static str],
}

fn main() {
    println!("cargo::rerun-if-changed=c");
    println!("cargo::rerun-if-env-changed=CC");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    let cc = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let variants = [
        Variant { suffix: "", compiler: cc.clone(), options: &[] },
        Variant { suffix: "-static", compiler: cc.clone(), options: &["-static"] },
        Variant { suffix: "-i386", compiler: cc.clone(), options: &["-m32"] },
        Variant { suffix: "-musl", compiler: "musl-gcc".to_owned(), options: &["-static"] },
        Variant { suffix: "-stripped", compiler: cc, options: &["-s"] },
    ];
    let mut sources: Vec<PathBuf> = std::fs::read_dir("c")
        .expect("the folder c")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|e| e == "c"))
        .collect();
    sources.sort();
    let mut list = String::from("&[\n");
    for source in &sources {
        let stem = source.file_stem().and_then(|s| s.to_str()).expect("an ASCII name");
        for variant in &variants {
            let name = format!("{stem}{}", variant.suffix);
            let built = compile(variant, source, &out.join(&name));
            let _ = writeln!(list, "    ({name:?}, {built:?}),");
        }
    }
    list.push_str("]\n");
    std::fs::write(out.join("built.rs"), list).expect("OUT_DIR is writable");
}

/// The path of the program, or why there is none.
fn compile(variant: &Variant, source: &Path, program: &Path) -> Result<String, String> {
    let run = Command::new(&variant.compiler)
        .args(["-O1", "-pthread", "-Wall", "-Wno-nonnull", "-o"])
        .arg(program)
        .arg(source)
        .args(variant.options)
        .output();
    let shown = format!("{} {}", variant.compiler, variant.options.join(" "));
    match run {
        Err(error) => Err(format!("{shown}: {error}")),
        Ok(done) if !done.status.success() => {
            let text = String::from_utf8_lossy(&done.stderr);
            let line = text.lines().find(|l| l.contains("error") || l.contains("cannot find"));
            let line = line.or(text.lines().next()).unwrap_or("no message");
            Err(format!("{shown}: {line}"))
        }
        Ok(_) => Ok(program.to_str().ok_or("a path that is not UTF-8")?.to_owned()),
    }
}
