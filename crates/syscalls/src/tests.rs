use super::*;

#[test]
fn every_path_call_of_every_abi_has_a_path_argument_and_stops() {
    for abi in abis() {
        for call in abi.calls.iter().flatten() {
            if Query::of(call.name).names_path() {
                assert!(matches!(call.kind, CallKind::Path(_)), "{}", call.name);
                assert_eq!(call.kind.stops(), Some(Condition::Always), "{}", call.name);
                // Those ending in "at" take a directory descriptor.
                let CallKind::Path(shape) = call.kind else { unreachable!() };
                let at = call.name.trim_end_matches(['2', '4', '6']).ends_with("at")
                    && !matches!(call.name, "stat" | "lstat" | "stat64" | "lstat64")
                    && !call.name.ends_with("oldstat")
                    && !call.name.ends_with("oldlstat")
                    && call.name != "creat";
                assert_eq!(shape.dir.is_some() && at, at, "{}", call.name);
            }
        }
    }
}

#[test]
fn paths_are_where_the_manual_says() {
    for (name, path, dir) in [
        ("open", 0, None),
        ("stat", 0, None),
        ("lstat64", 0, None),
        ("openat", 1, Some(0)),
        ("newfstatat", 1, Some(0)),
        ("statx", 1, Some(0)),
        ("execveat", 1, Some(0)),
        ("utimensat", 1, Some(0)),
        ("linkat", 1, Some(0)),
        ("link", 0, None),
        ("rename", 0, None),
        ("renameat", 1, Some(0)),
        ("renameat2", 1, Some(0)),
        ("pivot_root", 0, None),
        ("symlink", 1, None),
        ("symlinkat", 2, Some(1)),
        ("mount", 1, None),
        ("creat", 0, None),
        ("inotify_add_watch", 1, None),
        ("fanotify_mark", 4, Some(3)),
        ("statfs", 0, None),
    ] {
        let CallKind::Path(shape) = kind(name, true) else { panic!("{name}") };
        assert_eq!((shape.path, shape.dir), (path, dir), "{name}");
    }
    for name in ["close", "fstat"] {
        assert!(!matches!(kind(name, true), CallKind::Path(_)), "{name}");
    }
}

#[test]
fn known_numbers_have_their_names() {
    let abis = abis();
    let name = |abi: usize, nr: usize| abis[abi].calls[nr].as_ref().map(|c| c.name);
    if cfg!(target_arch = "x86_64") {
        assert_eq!(name(0, 262), Some("newfstatat"));
        assert_eq!(name(0, 520), Some("execve"));
        assert_eq!(name(0, 545), Some("execveat"));
        assert_eq!(name(1, 195), Some("stat64"));
        assert_eq!(name(1, 17), Some("break"));
    }
    if cfg!(target_arch = "aarch64") {
        assert_eq!(name(0, 56), Some("openat"));
        assert_eq!(name(0, 79), Some("newfstatat"));
        assert_eq!(name(1, 327), Some("fstatat64"));
    }
}

#[test]
fn each_seccomp_mode_is_asked_for_in_two_ways() {
    let (strict, filter) = (Some(SeccompMode::Strict), Some(SeccompMode::Filter));
    for (name, args, mode) in [
        ("prctl", [22, 1, 0, 0, 0, 0], strict),
        ("prctl", [22, 2, 0, 0, 0, 0], filter),
        ("prctl", [22, 3, 0, 0, 0, 0], None),
        ("prctl", [38, 1, 0, 0, 0, 0], None),
        ("seccomp", [0; 6], strict),
        ("seccomp", [1, 0, 0, 0, 0, 0], filter),
        ("seccomp", [2, 0, 0, 0, 0, 0], None),
    ] {
        let CallKind::Seccomp(when) = kind(name, true) else { panic!("{name}") };
        let found = Some(args).filter(|args| when.holds(args)).as_ref().and_then(seccomp_mode);
        assert_eq!(found, mode, "{name} {args:?}");
    }
}

#[test]
fn waits_that_return_at_once_are_recognized() {
    const WNOHANG: u64 = 1;
    // Which argument decides; its value with which the call returns at once, and one with which it waits.
    for (name, at, at_once, waits) in [
        ("wait4", 2, WNOHANG, 0),
        ("waitpid", 2, WNOHANG, 0),
        ("waitid", 3, WNOHANG, 0),
        ("poll", 2, 0, u64::MAX),
        ("epoll_wait", 3, 0, u64::MAX),
        ("epoll_pwait", 3, 0, u64::MAX),
    ] {
        let CallKind::Wait(when) = kind(name, true) else { panic!("{name} waits") };
        let holds =
            |value: u64| when.holds(&std::array::from_fn(|n| if n == at { value } else { 0 }));
        assert_eq!((holds(at_once), holds(waits)), (false, true), "{name}");
    }
}
