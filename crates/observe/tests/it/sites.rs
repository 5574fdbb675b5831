//! Call sites of programs compiled here, by real traces.

use needless_fixtures::go;
use needless_host::{Roots, fill_libcs};
use needless_launch::{Launch, Stdio};
use needless_model::{CallSite, Fact, Profile};
use needless_observe::resolve;
use needless_ptrace::{TraceOptions, trace};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const ASKING: &str = r#"
#include <string.h>
#include <time.h>
volatile int rounds = 100;
int main(int argc, char **argv) {
    time_t now = 1000000000;
    struct tm tm = {0}, *local = 0;
    char text[64];
    for (int i = 0; i < rounds; i++) {
        if (!strcmp(argv[1], "localtime")) local = localtime(&now);
        if (!strcmp(argv[1], "mktime")) { tm.tm_mday = 1; now += mktime(&tm) == 7; }
        if (!strcmp(argv[1], "strftime")) now += strftime(text, 64, "%s", &tm) == 77;
        if (!strcmp(argv[1], "tzset")) tzset();
        if (!strcmp(argv[1], "ctime")) now += !ctime(&now);
        now++;
    }
    return local && local->tm_year == 1;
}
"#;

struct Scratch(TempDir);

impl Scratch {
    fn new() -> Scratch {
        Scratch(tempfile::tempdir().unwrap())
    }

    fn build(&self, compiler: &str, source: &str, options: &[&str]) -> PathBuf {
        let (file, program) = (self.0.path().join("app.c"), self.0.path().join("app"));
        fs::write(&file, source).unwrap();
        let mut command = Command::new(compiler);
        command.arg("-o").args([&program, &file]).args(options);
        let made = command.status().unwrap_or_else(|error| panic!("{compiler}: {error}"));
        assert!(made.success(), "{compiler} {options:?}");
        program
    }
}

/// The profile of a run without TZ, its sites resolved.
fn run(program: &Path, arguments: &[&str]) -> Profile {
    let mut argv = vec![OsString::from(program)];
    argv.extend(arguments.iter().map(OsString::from));
    let launch = Launch {
        program: program.into(),
        argv,
        env: Some(Vec::new()),
        stdio: Stdio::Null,
        caller: None,
    };
    let traced = trace(launch, &TraceOptions { stacks: true, ..TraceOptions::default() }).unwrap();
    let mut profile = traced.profile;
    fill_libcs(&mut profile, &Roots::new(traced.roots).unwrap());
    resolve(&traced.stacks, &mut profile);
    profile
}

/// The sites of the most frequent row about /etc/localtime.
fn sites(profile: &Profile) -> &[(CallSite, u64)] {
    let rows = profile.rows.iter().filter(|row| profile.path(row) == "/etc/localtime");
    let row = rows.max_by_key(|row| row.count).expect("the program asks for /etc/localtime");
    assert!(row.count >= 99, "{row:?}");
    &row.sites
}

/// The only site, as a report prints it, with its offset taken out: it is the compiler's.
fn only_site(profile: &Profile) -> String {
    let [(site, weight)] = sites(profile) else { panic!("{:?}", sites(profile)) };
    assert!(*weight > 1, "stands for several calls");
    assert!(profile.facts.has(Fact::CallSites));
    assert!(site.offset > 0);
    site.to_string().replace(&format!("{:#x}", site.offset), "N")
}

#[test]
fn every_layout_of_a_dynamic_program_names_the_call() {
    let layouts: [&[&str]; 9] = [
        &[],
        &["-O2"],
        &["-no-pie", "-fno-pie"],
        &["-O2", "-no-pie", "-fno-pie", "-Wl,-z,lazy"],
        &["-O2", "-fno-plt"],
        &["-fno-plt", "-no-pie", "-Wl,-z,lazy"],
        &["-O2", "-Wl,-z,now", "-Wl,-z,relro"],
        #[cfg(target_arch = "x86_64")]
        &["-O2", "-fcf-protection", "-Wl,-z,ibtplt"],
        #[cfg(not(target_arch = "x86_64"))]
        &["-O2", "-mbranch-protection=standard"],
        &["-O2", "-fomit-frame-pointer", "-fno-asynchronous-unwind-tables"],
    ];
    for options in layouts {
        let scratch = Scratch::new();
        let program = scratch.build("cc", ASKING, options);
        assert_eq!(
            only_site(&run(&program, &["localtime"])),
            "main+N: call localtime@plt",
            "{options:?}"
        );
    }
}

#[test]
fn the_called_function_is_distinguished_from_its_neighbours() {
    let scratch = Scratch::new();
    let program = scratch.build("cc", ASKING, &["-O2"]);
    for function in ["localtime", "mktime", "strftime", "tzset", "ctime"] {
        let expected = format!("main+N: call {function}@plt");
        assert_eq!(only_site(&run(&program, &[function])), expected);
    }
}

#[test]
fn a_stripped_program_is_named_by_its_file() {
    for options in [&["-s"][..], &["-s", "-no-pie"], &["-s", "-O2", "-fno-plt"]] {
        let scratch = Scratch::new();
        let program = scratch.build("cc", ASKING, options);
        let profile = run(&program, &["localtime"]);
        assert_eq!(only_site(&profile), "app+N: call localtime@plt", "{options:?}");
        // The offset is that of the return address in the file, also in a fixed-address program.
        let offset = usize::try_from(sites(&profile)[0].0.offset).unwrap();
        let code = fs::read(&program).unwrap();
        let call = &code[offset - 5..offset];
        let is_call = if cfg!(target_arch = "aarch64") {
            call[4] >> 2 == 0b10_0101 || call[4] == 0xd6
        } else {
            call[0] == 0xe8 || call[0] == 0x15
        };
        assert!(is_call, "{options:?}: {call:x?} before {offset:#x}");
    }
}

#[test]
fn a_static_program_is_not_guessed_at() {
    let scratch = Scratch::new();
    let program = scratch.build("cc", ASKING, &["-static"]);
    let profile = run(&program, &["localtime"]);
    assert!(sites(&profile).is_empty());
    assert!(!profile.facts.has(Fact::CallSites));
    let [note] = &profile.notes[..] else { panic!("{:?}", profile.notes) };
    assert!(note.contains("app") && note.contains("linked statically"), "{note}");
}

#[test]
fn a_go_program_is_named_by_its_own_function() {
    let scratch = Scratch::new();
    let source = r#"
package main

import "os"

//go:noinline
func ask() {
	os.Stat("/etc/localtime")
}

func main() {
	for i := 0; i < 100; i++ {
		ask()
	}
}
"#;
    let (file, program) = (scratch.0.path().join("app.go"), scratch.0.path().join("app"));
    fs::write(&file, source).unwrap();
    let build = |options: &str| {
        let mut go = go()?;
        go.args(["build", options, "-o"]).args([&program, &file]);
        Some(go.status().unwrap().success())
    };
    let Some(built) = build("-ldflags=") else { return };
    assert!(built);
    assert_eq!(only_site(&run(&program, &[])), "main.ask+N");
    assert_eq!(build("-ldflags=-s -w"), Some(true));
    assert!(
        sites(&run(&program, &[])).is_empty(),
        "stripped: no symbol shows where its library ends"
    );
}

#[test]
fn a_library_is_named_by_its_own_function() {
    let scratch = Scratch::new();
    let library = r#"
        #include <time.h>
        struct tm *stamp(const time_t *t) { struct tm *l = localtime(t); return l ? l : 0; }
    "#;
    fs::write(scratch.0.path().join("lib.c"), library).unwrap();
    let object = scratch.0.path().join("libstamp.so");
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-shared", "-fPIC", "-fno-optimize-sibling-calls", "-o"]).arg(&object);
    assert!(cc.arg(scratch.0.path().join("lib.c")).status().unwrap().success());
    let program = scratch.build(
        "cc",
        "#include <time.h>\nstruct tm *stamp(const time_t *);\n\
         int main(void) { time_t t = 1; for (int i = 0; i < 100; i++) stamp(&t); return 0; }",
        &[object.to_str().unwrap(), "-Wl,-rpath,$ORIGIN"],
    );
    let profile = run(&program, &[]);
    assert_eq!(only_site(&profile), "stamp+N: call localtime@plt");
    assert!(sites(&profile)[0].0.module.ends_with("/libstamp.so"));
}

#[test]
fn two_places_are_two_sites() {
    let scratch = Scratch::new();
    let source = r#"
        #include <time.h>
        volatile time_t now = 1;
        __attribute__((noinline)) int one(void) { time_t t = now; return localtime(&t)->tm_sec; }
        __attribute__((noinline)) int two(void) { time_t t = now; return localtime(&t)->tm_sec; }
        int main(void) {
            int sum = 0;
            for (int i = 0; i < 2000; i++) sum += i < 20 ? one() : two();
            return sum == 7;
        }
    "#;
    let program = scratch.build("cc", source, &["-O1"]);
    let profile = run(&program, &[]);
    // Samples become rare: those at the 2nd and 8th call fall to one, the others to two.
    let names: Vec<_> =
        sites(&profile).iter().filter_map(|(site, _)| site.function.as_deref()).collect();
    assert_eq!(names, ["two", "one"]);
}

#[test]
fn a_call_through_a_pointer_has_a_place_but_no_name() {
    let scratch = Scratch::new();
    let source = r#"
        #include <time.h>
        struct tm *(*volatile ask)(const time_t *) = localtime;
        int main(void) { time_t t = 1; for (int i = 0; i < 100; i++) ask(&t); return 0; }
    "#;
    let program = scratch.build("cc", source, &["-O1"]);
    assert_eq!(only_site(&run(&program, &[])), "main+N");
}

#[test]
fn a_system_call_of_the_programs_own_is_its_own_site() {
    let scratch = Scratch::new();
    let source = r#"
        #include <sys/stat.h>
        #include <sys/syscall.h>
        #include <fcntl.h>
        struct stat about;
        __attribute__((noinline)) long ask(void) {
        #ifdef __x86_64__
            long answer;
            register long flags __asm__("r10") = 0;
            __asm__ volatile("syscall" : "=a"(answer)
                : "a"(SYS_newfstatat), "D"(AT_FDCWD), "S"("/etc/localtime"), "d"(&about),
                  "r"(flags) : "rcx", "r11", "memory");
            return answer;
        #else
            register long x8 __asm__("x8") = SYS_newfstatat, x0 __asm__("x0") = AT_FDCWD;
            register const void *x1 __asm__("x1") = "/etc/localtime", *x2 __asm__("x2") = &about;
            register long x3 __asm__("x3") = 0;
            __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
            return x0;
        #endif
        }
        int main(void) { for (int i = 0; i < 100; i++) ask(); return 0; }
    "#;
    let program = scratch.build("cc", source, &["-O1"]);
    assert_eq!(only_site(&run(&program, &[])), "ask+N");
}

#[test]
fn a_c_library_without_unwinding_tables_ends_the_search() {
    // As Alpine's musl is built. The library keeps no frame pointer, main does: who supposed one
    // in the library would name main's caller.
    let library = r#"
        #include <sys/stat.h>
        int ask(void) { struct stat about; return stat("/etc/localtime", &about); }
    "#;
    let main = "int ask(void); int main(void) { for (int i = 0; i < 100; i++) ask(); return 0; }";
    let site_with = |tables: &str| {
        let scratch = Scratch::new();
        fs::write(scratch.0.path().join("lib.c"), library).unwrap();
        let object = scratch.0.path().join("libnss_ask.so.2");
        let mut cc = Command::new("cc");
        cc.args(["-O1", "-shared", "-fPIC", "-fomit-frame-pointer", tables, "-o"]).arg(&object);
        assert!(cc.arg(scratch.0.path().join("lib.c")).status().unwrap().success());
        let options = ["-fno-omit-frame-pointer", object.to_str().unwrap(), "-Wl,-rpath,$ORIGIN"];
        let profile = run(&scratch.build("cc", main, &options), &[]);
        sites(&profile).first().map(|(site, _)| (site.function.clone(), site.calls.clone()))
    };
    let found = Some((Some("main".into()), Some("ask".into())));
    assert_eq!(site_with("-fasynchronous-unwind-tables"), found);
    assert_eq!(site_with("-fno-asynchronous-unwind-tables"), None);
}
