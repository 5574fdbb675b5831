//! The boundary between the library and the program: what the program sets, defines, lacks or loads is as with the C
//! library alone.

use crate::common::{have, library, may_mount, program, run, same, with_a_link};
use std::path::Path;
use std::process::Command;

/// Sets `TZ` for one call of each function, within the second of a look, and lets each look fail once with EMFILE.
/// `file`: whether `/etc/localtime` exists.
fn flips(file: bool) {
    if !may_mount() {
        return;
    }
    let flips = program("flips", &[]);
    let [plain, preloaded] = [false, true].map(|preloaded| {
        let out = with_a_link(
            |at| {
                let remove = if file { "true" } else { "rm \"$0/zone\"" };
                let masks = "echo %H:%M >\"$0/masks\"";
                format!("sh -c '{remove}; {masks}; exec {} \"$0/masks\"' {at}", flips.display())
            },
            preloaded,
        );
        assert!(out.status.success() && out.stderr.is_empty(), "{out:?}");
        String::from_utf8(out.stdout).expect("text")
    });
    assert!(plain.lines().count() > 150 && plain.contains("set 2 17:04 ABC"), "{plain}");
    let differing: Vec<_> = plain.lines().zip(preloaded.lines()).filter(|(a, b)| a != b).collect();
    assert!(differing.is_empty() && plain.len() == preloaded.len(), "{differing:#?}");
}

#[test]
fn a_variable_that_was_set_for_one_call_is_not_forgotten() {
    flips(true);
}

#[test]
fn without_a_file_the_answers_are_the_same() {
    flips(false);
}

#[test]
fn a_changed_variable_is_seen_at_once() {
    let variable = program("variable", &[]);
    for tz in [None, Some("Asia/Tokyo")] {
        same(|| Command::new(&variable), tz);
    }
}

/// What the program does: see c/environ.c.
const WHICH: [&str; 4] = ["0", "1", "2", "3"];

fn with_variables(mut command: Command, variables: usize) -> Command {
    command.env_clear().envs((0..variables).map(|at| (format!("A{at}"), "x")));
    command
}

#[test]
fn edits_of_the_environment_by_hand_are_seen_in_the_next_call() {
    let environ = program("environ", &[]);
    for which in WHICH {
        for variables in [1, 2, 4, 20] {
            let made = || {
                let mut command = with_variables(Command::new(&environ), variables);
                command.arg(which);
                command
            };
            same(made, None);
        }
    }
}

#[test]
fn nothing_is_read_that_was_freed_or_never_set() {
    if !have("valgrind") {
        return;
    }
    let (environ, members) = (program("environ", &[]), program("members", &[]));
    for (program, which) in WHICH.map(|which| (&environ, which)).into_iter().chain([(&members, "")])
    {
        let mut command = with_variables(Command::new("valgrind"), 20);
        command.args(["-q", "--error-exitcode=99"]).arg(program).arg(which);
        let out = run(&mut command, None, true);
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success() && said.is_empty(), "{which}: {:?} {said}", out.status);
    }
}

#[test]
fn members_that_a_format_does_not_need_are_not_read() {
    let members = program("members", &[]);
    for tz in [None, Some("Asia/Tokyo")] {
        same(|| Command::new(&members), tz);
    }
}

/// Functions and variables of the program, under names that belong to it.
#[test]
fn a_programs_own_names_are_left_alone() {
    for (name, options) in
        [("own", &[][..]), ("names", &["-std=c11"]), ("names", &["-std=c11", "-no-pie"])]
    {
        let own = program(name, options);
        for tz in [None, Some("Asia/Tokyo"), Some("JST-9")] {
            same(|| Command::new(&own), tz);
        }
    }
}

#[test]
fn children_of_vfork_convert_too() {
    let vfork = program("vfork", &[]);
    for tz in [None, Some("Europe/Athens"), Some("JST-9")] {
        same(|| Command::new(&vfork), tz);
    }
}

#[test]
fn a_child_needs_no_lock_of_another_thread() {
    let forked = program("forked", &[]);
    same(|| Command::new(&forked), None);
    assert_eq!(run(&mut Command::new(&forked), None, true).stdout, b"none hangs\n");
}

#[test]
fn a_look_of_another_thread_is_not_remembered_past_a_change() {
    let threads = program("threads", &[]);
    let out = run(&mut Command::new(&threads), None, true);
    assert_eq!(String::from_utf8_lossy(&out.stdout), "0 wrong\n", "{:?}", out.status);
}

#[test]
fn a_plugin_that_binds_deeply_has_the_same_zone() {
    let deep = program("deep", &["-ldl"]);
    let plugin = program("deep", &["-shared", "-fPIC", "-DPLUGIN"]);
    let made = || {
        let mut command = Command::new(&deep);
        command.arg(&plugin);
        command
    };
    same(made, None);
}

/// By dlopen, and by dlmopen into a namespace without and with a C library.
#[test]
fn it_answers_wherever_it_is_loaded() {
    let namespaces = program("namespaces", &["-ldl"]);
    for tz in [None, Some("Asia/Tokyo")] {
        let out = run(Command::new(&namespaces).arg(library()), tz, false);
        let said = String::from_utf8_lossy(&out.stdout);
        let lines: Vec<_> = said.lines().collect();
        assert_eq!(lines.len(), 9, "{tz:?}: {out:?}");
        assert!(lines.iter().all(|line| *line == lines[0]), "{tz:?}: {said}");
        assert!(lines[0].contains("1700000000"), "{said}");
    }
}

#[test]
fn a_seccomp_filter_with_the_c_librarys_calls_suffices() {
    let sandbox = program("sandbox", &[]);
    same(|| Command::new(&sandbox), None);
}

/// bash rewrites its exported variables in place: the array and its last entry stay, `TZ` is in the middle.
#[test]
fn bash_prints_the_zone_that_is_set() {
    if !have("bash") {
        return;
    }
    let script = "export V0= V4=xxxxxxxxxxx V5=xxxxx
        printf '%(%F %T %Z)T\\n' 1717243445
        unset V4
        TZ=Asia/Tokyo printf '%(%F %T %Z)T\\n' 1717243445
        printf '%(%F %T %Z)T\\n' 1717243445";
    let answers = [false, true].map(|preloaded| {
        let mut command = Command::new("bash");
        command.env_clear().env("PATH", "/usr/bin:/bin").env("A", "1").env("HOME", "/");
        let out = run(command.args(["-c", script]), None, preloaded);
        assert!(out.status.success(), "{out:?}");
        String::from_utf8(out.stdout).expect("text")
    });
    assert!(answers[0].contains("21:04:05 JST\n"), "{}", answers[0]);
    assert_eq!(answers[0], answers[1]);
}

#[test]
fn a_static_program_and_a_musl_one_still_run() {
    let sweep = program("sweep", &["-static"]);
    let made = || {
        let mut c = Command::new(&sweep);
        c.args(["10", "1"]);
        c
    };
    same(made, Some("JST-9"));
    let Some(storm) = musl_program("storm") else { return };
    let made = || {
        let mut c = Command::new(&storm);
        c.arg("1000");
        c
    };
    for tz in [None, Some("JST-9")] {
        same(made, tz);
    }
}

/// musl has no `strptime_l`.
#[test]
fn a_function_that_the_c_library_lacks_fails_with_enosys() {
    let Some(absent) = musl_program("absent") else { return };
    let out = run(&mut Command::new(absent), None, true);
    let said = String::from_utf8_lossy(&out.stdout);
    assert_eq!(said, "nothing: Function not implemented\n", "{out:?}");
}

/// The program `tests/c/NAME.c` with musl; `None` if musl-gcc is not installed.
fn musl_program(name: &str) -> Option<std::path::PathBuf> {
    if !have("musl-gcc") {
        return None;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(format!("{name}.c"));
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-musl"));
    let cc = Command::new("musl-gcc")
        .args(["-w", "-D_GNU_SOURCE", "-o"])
        .arg(&target)
        .arg(source)
        .status()
        .expect("musl-gcc");
    assert!(cc.success());
    Some(target)
}
