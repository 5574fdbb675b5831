//! Views of the processes of one service: they show these and nothing of the others.

use crate::{CheckOptions, View, check, check_by_service};
use needless_model::{
    Answer, Backend, Builder, Fact, Facts, Libc, Limits, ProcId, Process, Profile, Query, Question,
    Spawn, Totals, Window,
};

/// Five processes: one forks two, the second of which forks again and then execs.
fn whole() -> Profile {
    let mut b = Builder::new(Limits::default());
    let first = b.process(Process { cpu_user_ns: Some(5), ..Process::new(1, None, Spawn::Seen) });
    let second = b.process(b.process_ref(first).forked(2, first));
    let third = b.process(b.process_ref(first).forked(3, first));
    let fourth = b.process(b.process_ref(third).forked(4, third));
    let fifth = b.process(Process::new(4, Some(fourth), Spawn::Exec));
    b.process_mut(fifth).cpu_user_ns = Some(7);
    b.process_mut(fifth).cpu_sys_ns = Some(1);
    for (process, name, path, n) in [
        (third, "openat", "/c", 1),
        (first, "openat", "/lib/ld-musl-x86_64.so.1", 2),
        (second, "newfstatat", "/a", 3),
        (fifth, "access", "/b", 4),
        (third, "newfstatat", "/a", 5),
    ] {
        let question =
            Question { query: Query::of(name), path, from_dir_fd: false, call: b.call(name) };
        let question = b.question(process, question);
        for _ in 0..n {
            b.answer(question, Answer::outcome(Ok(())));
        }
    }
    let read = b.call("read");
    b.count(third, read, 100, Answer::outcome(Ok(())));
    b.finish(Backend::Ebpf, Facts::of(&[Fact::Paths]), Window::default())
}

/// The processes of a view, its rows as process, path and count, and its sums.
fn shown(view: &View<'_>) -> (Vec<u32>, Vec<(u32, String, u64)>, Totals) {
    let rows = view.rows().map(|(at, row)| {
        assert!(std::ptr::eq(row, &view.profile.rows[at]));
        (row.process.0, view.profile.path(row).to_owned(), row.count)
    });
    (view.ids().map(|id| id.0).collect(), rows.collect(), view.totals())
}

#[test]
fn a_view_has_its_rows_and_sums_and_nothing_of_the_others() {
    let whole = whole();
    let key = |id: ProcId| whole.process(id).pid >= 3;
    let [(_, before), (_, view)] = &View::divided(&whole, key).collect::<Vec<_>>()[..] else {
        panic!("two views")
    };
    let (ids, rows, totals) = shown(view);
    assert_eq!(ids, [2, 3, 4]);
    let row = |process: u32, path: &str, count| (process, path.to_owned(), count);
    assert_eq!(rows, [row(2, "/c", 1), row(4, "/b", 4), row(2, "/a", 5), row(2, "", 100)]);
    let (cpu_user_ns, cpu_sys_ns) = (Some(7), Some(1));
    let expected = Totals { calls: 110, path_calls: 10, cpu_user_ns, cpu_sys_ns, tracing_ns: 0 };
    assert_eq!(totals, expected);
    assert_eq!(before.totals().cpu_sys_ns, None, "not known is not 0");
    let at = |view: &View<'_>| view.rows_at("/a").into_keys().map(|id| id.0).collect::<Vec<_>>();
    assert_eq!((at(before), at(view)), (vec![1], vec![2]));
    assert_eq!(view.rows_where(|path| path != "/c").len(), 2);
    let of: Vec<u64> = view.rows_of(ProcId(2)).map(|(_, row)| row.count).collect();
    assert_eq!(of, [1, 5, 100]);
}

#[test]
fn images_end_where_the_parent_is_in_another_view() {
    let whole = whole();
    let of = |view: &View<'_>| -> Vec<(u32, u32, Spawn, Libc)> {
        let ids = view.ids();
        ids.map(|id| (id.0, view.image(id).0, view.born(id), view.libc(id).clone())).collect()
    };
    let all = of(&View::new(&whole));
    let ids: Vec<(u32, u32, Spawn)> =
        all.iter().map(|(id, image, born, _)| (*id, *image, *born)).collect();
    use Spawn::{Exec, Fork, Seen};
    assert_eq!(ids, [(0, 0, Seen), (1, 0, Fork), (2, 0, Fork), (3, 0, Fork), (4, 4, Exec)]);
    assert!(all[..4].iter().all(|(.., libc)| *libc == Libc::Musl));
    let (_, view) = View::divided(&whole, |id| id != ProcId(0)).last().unwrap();
    // Forked from a process that ran before the window, so their image is older, too; what it loaded is not seen.
    let unknown = Libc::Unknown;
    assert_eq!(
        of(&view),
        [
            (1, 1, Seen, unknown.clone()),
            (2, 2, Seen, unknown.clone()),
            (3, 2, Fork, unknown.clone()),
            (4, 4, Exec, unknown)
        ]
    );
    assert_eq!(view.lineage(ProcId(3)).map(|id| id.0).collect::<Vec<_>>(), [3, 2]);
}

#[test]
fn one_view_of_all_is_the_whole() {
    let whole = whole();
    let [((), one)] = &View::divided(&whole, |_| ()).collect::<Vec<_>>()[..] else {
        panic!("one view")
    };
    assert_eq!(shown(one), shown(&View::new(&whole)));
    assert_eq!(View::divided(&Profile::default(), |_| ()).count(), 0);
}

#[test]
fn each_service_is_judged_as_if_it_were_observed_alone() {
    let log = |pid: u32, name: &str, times: u32| {
        format!(
            "{pid} execve(\"/usr/bin/{name}\", [\"{name}\"], 0x7ffd5e8b9d58 /* 20 vars */) = 0\n\
             {pid} openat(AT_FDCWD, \"/lib/x86_64-linux-gnu/libc.so.6\", O_RDONLY|O_CLOEXEC) = 3\n\
             {pid} openat(AT_FDCWD, \"/etc/localtime\", O_RDONLY|O_CLOEXEC) = 3\n\
             {pid} newfstatat(AT_FDCWD, \"/etc/localtime\", {{st_mode=S_IFREG|0644, st_size=127, ...}}, 0) = 0 x{times}\n\
             {pid} openat(AT_FDCWD, \"/srv/shared/a.conf\", O_RDONLY) = -1 ENOENT (No such file or directory) x{times}\n\
             {pid} openat(AT_FDCWD, \"/srv/{name}/b.conf\", O_RDONLY) = 4 x{times}\n"
        )
    };
    let logs = [log(5, "one", 30), log(6, "two", 400), log(7, "three", 90)];
    let mut all = super::profile(&format!("env -TZ\n{}", logs.concat()));
    for process in &mut all.processes {
        process.service = Some(format!("{}.service", process.pid));
    }
    let (together, accounts) = crate::check_with_accounts(&all, &CheckOptions::default());
    assert_eq!(together.findings, check_by_service(&all, &CheckOptions::default()).findings);
    for (log, (service, account)) in logs.iter().zip(accounts) {
        let alone = check(&super::profile(&format!("env -TZ\n{log}")), &CheckOptions::default());
        let of = |findings: &[needless_model::Finding]| -> Vec<_> {
            let findings = findings.iter().filter(|f| f.service.is_none() || f.service == service);
            findings
                .map(|f| (f.rule.clone(), f.what.clone(), f.why.clone(), f.needless, f.of))
                .collect()
        };
        assert!(!alone.findings.is_empty());
        assert_eq!(of(&together.findings), of(&alone.findings));
        assert_eq!(of(&together.below), of(&alone.below));
        let sums = |account: &crate::Account| {
            (account.calls, account.needless, account.unexplained, account.needed())
        };
        assert_eq!(sums(&account), sums(&alone.account));
        assert_eq!(account.lines, alone.account.lines);
    }
}

/// Of short processes the kernel tells only the sum.
#[test]
fn issue_42_the_time_of_the_whole_is_that_of_its_processes() {
    let process = |pid, cpu, parts: Option<(u64, u64)>| Process {
        cpu_ns: Some(cpu),
        cpu_user_ns: parts.map(|(user, _)| user),
        cpu_sys_ns: parts.map(|(_, system)| system),
        ..Process::new(pid, None, Spawn::Exec)
    };
    let of = |all: &[Process]| {
        let totals = Totals::of(all.iter(), std::iter::empty());
        (totals.cpu_user_ns, totals.cpu_sys_ns)
    };
    let (long, short) = (process(1, 300, Some((100, 200))), process(2, 60, None));
    assert_eq!(of(&[long, short.clone()]), (Some(120), Some(240)));
    assert_eq!(of(&[short]), (None, None), "nobody knows how it divides");
}
