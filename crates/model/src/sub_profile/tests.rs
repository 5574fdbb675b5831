use super::*;
use crate::{
    Answer, Backend, Builder, CallSite, Fact, Facts, Limits, Loss, Query, Question, SystemZone,
    Window, ZoneFile,
};

fn zone(name: &str) -> SystemZone {
    let file = ZoneFile::Regular;
    SystemZone { file, name: Some(name.to_owned()), how: String::new(), tzdata: true }
}

/// Five processes: one forks two, the second of which forks again and then execs.
fn whole() -> Profile {
    let mut b = Builder::new(Limits::default());
    let first = b.process(Process { cpu_user_ns: Some(5), ..Process::new(1, None, Spawn::Seen) });
    b.process_mut(first).service = Some("a.service".into());
    let second = b.process(b.process_ref(first).forked(2, first));
    let third = b.process(b.process_ref(first).forked(3, first));
    let fourth = b.process(b.process_ref(third).forked(4, third));
    let fifth = b.process(Process::new(4, Some(fourth), Spawn::Exec));
    b.process_mut(fifth).cpu_user_ns = Some(7);
    b.process_mut(fifth).cpu_sys_ns = Some(1);
    for (process, name, path, n) in [
        (third, "openat", "/c", 1),
        (first, "newfstatat", "/a", 2),
        (second, "newfstatat", "/b", 3),
        (fifth, "access", "below", 4),
        (third, "newfstatat", "/a", 5),
    ] {
        let call = b.call(name);
        let from_dir_fd = process == fifth;
        let question = Question { call, query: Query::of(name), path, from_dir_fd };
        let question = b.question(process, question);
        for _ in 0..n {
            b.answer(question, Answer::outcome(Ok(())));
        }
    }
    let read = b.call("read");
    let row = b.count(third, read, 100, Answer::outcome(Ok(())));
    let site = CallSite { module: "/m".into(), function: None, offset: 1, calls: None };
    b.row_mut(row).sites.push((site, 9));
    b.lost(Loss::Unfinished, 3);
    b.note("a note");
    let facts = Facts::of(&[Fact::Paths]);
    let mut profile = b.finish(Backend::Ebpf, facts, Window { length_ns: Some(10) });
    profile.host.zone = Some(zone("UTC"));
    profile.host.other_zones = vec![(third, zone("Europe/Athens")), (first, zone("Asia/Tokyo"))];
    profile
}

/// What a profile says row by row, in words.
fn counts(profile: &Profile) -> Vec<(u32, &str, &str, u64)> {
    let rows = profile.rows.iter();
    rows.map(|r| (profile.process(r.process).pid, profile.call(r), profile.path(r), r.count))
        .collect()
}

#[test]
fn a_part_has_its_rows_texts_and_totals_and_nothing_of_the_others() {
    let whole = whole();
    let (part, ids) = whole.part(&|id| whole.process(id).pid >= 3);
    assert_eq!(ids, [ProcId(2), ProcId(3), ProcId(4)]);
    let expected = [(3, "openat", "/c", 1), (4, "access", "below", 4), (3, "newfstatat", "/a", 5)];
    assert_eq!(counts(&part)[..3], expected);
    assert_eq!(counts(&part)[3..], [(3, "read", "", 100)]);
    assert_eq!(part.rows[1].target, Target::Dir(part.strings.find("below").unwrap()));
    assert_eq!((part.rows[3].target, part.rows[3].sites.len()), (Target::None, 1));
    assert_eq!(part.strings.len(), 7, "openat, access, newfstatat, read and three paths");
    assert_eq!(part.strings.find("/b"), None);
    let totals = Totals {
        calls: 110,
        path_calls: 10,
        cpu_user_ns: Some(7),
        cpu_sys_ns: Some(1),
        tracing_ns: 0,
    };
    assert_eq!(part.totals, totals);
}

#[test]
fn what_holds_for_the_whole_holds_for_a_part() {
    let whole = whole();
    let (part, _) = whole.part(&|id| id == ProcId(2));
    assert_eq!((part.backend, part.facts, part.window), (Backend::Ebpf, whole.facts, whole.window));
    assert_eq!((&part.lost, &part.notes), (&whole.lost, &whole.notes));
    assert_eq!(part.host.zone, whole.host.zone);
    assert_eq!(part.host.other_zones, [(ProcId(0), zone("Europe/Athens"))]);
    assert_eq!(part.totals.cpu_user_ns, None, "not known is not 0");
}

#[test]
fn parents_that_are_not_kept_are_none_and_images_end_there() {
    let whole = whole();
    let (part, ids) = whole.part(&|id| id != ProcId(0));
    assert_eq!(ids, [ProcId(1), ProcId(2), ProcId(3), ProcId(4)]);
    let parents: Vec<_> = part.processes.iter().map(|p| p.parent).collect();
    assert_eq!(parents, [None, None, Some(ProcId(1)), Some(ProcId(2))]);
    let images: Vec<_> = (0..4).map(|p| part.image_of(ProcId(p))).collect();
    assert_eq!(images, [ProcId(0), ProcId(1), ProcId(1), ProcId(3)]);
    // Forked from a process that ran before the window, so their image is older, too.
    let born: Vec<_> = part.processes.iter().map(|p| p.born).collect();
    assert_eq!(born, [Spawn::Seen, Spawn::Seen, Spawn::Fork, Spawn::Exec]);
    // An exec needs no parent to be one.
    let (last, _) = whole.part(&|id| id == ProcId(4));
    assert_eq!((last.processes[0].parent, last.processes[0].born), (None, Spawn::Exec));
}

#[test]
fn of_all_the_part_is_the_whole_and_of_none_it_is_empty() {
    let whole = whole();
    let (all, ids) = whole.part(&|_| true);
    assert_eq!(ids.len(), whole.processes.len());
    assert_eq!((counts(&all), all.totals), (counts(&whole), whole.totals));
    let (none, ids) = whole.part(&|_| false);
    assert!(ids.is_empty() && none.rows.is_empty() && none.processes.is_empty());
    assert_eq!((none.totals, none.facts), (Totals::default(), whole.facts));
    assert_eq!(Profile::default().part(&|_| true).1, []);
}

#[test]
fn parts_divide_the_whole_in_the_order_of_their_keys() {
    let whole = whole();
    let key = |id: ProcId| (id != ProcId(1)).then(|| whole.process(id).service.is_none());
    let parts: Vec<_> = whole.parts(key).collect();
    let ids: Vec<_> = parts.iter().map(|(key, part)| (*key, part.processes.clone())).collect();
    let with = vec![ProcId(0), ProcId(2), ProcId(3)];
    assert_eq!(ids, [(false, with), (true, vec![ProcId(4)])]);
    for (_, part) in &parts {
        for (new, at) in part.rows.iter().enumerate() {
            let (row, was) = (&part.profile.rows[new], &whole.rows[*at]);
            assert_eq!(part.processes[row.process.index()], was.process);
            assert_eq!(part.profile.path(row), whole.path(was));
        }
    }
    let rows: Vec<_> = parts.iter().map(|(_, part)| part.rows.clone()).collect();
    assert_eq!(rows, [vec![0, 1, 4, 5], vec![3]]);
}

#[test]
fn fork_hands_the_service_on_and_exec_begins_with_none() {
    let whole = whole();
    let services: Vec<_> = whole.processes.iter().map(|p| p.service.as_deref()).collect();
    let a = Some("a.service");
    assert_eq!(services, [a, a, a, a, None]);
}
