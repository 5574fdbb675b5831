//! Windows and keys in, pictures out; no terminal and no kernel.

use super::draw::{draw, page};
use super::keys::{Key, keys};
use super::sample::{Cause, Item, Sample};
use super::state::{Deed, State};
use crate::cli::Grouping;
use needless_model::{Change, Errno, Evidence, Finding, ProcId, Query, Remedy, Safety, Stage};
use needless_observe::Who;
use needless_rules::{Amount, Unanswered, Unexplained};
use ratatui_core::backend::TestBackend;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier};
use ratatui_core::terminal::Terminal;
use std::rc::Rc;

const SECOND: u64 = 1_000_000_000;

fn finding(rule: &'static str, change: Change) -> Cause {
    let safety = Safety::Caveat("Takes effect at the next start.".to_owned());
    Cause::Finding(Rc::new(Finding {
        rule: rule.into(),
        stage: Stage::Explained,
        processes: vec![ProcId(0)],
        service: None,
        needless: 100,
        besides: 0,
        of: 101,
        kernel_ns: Some(1),
        estimated: true,
        user_ns: None,
        what: "100 of 101 times /etc/localtime is asked about, it is unchanged".to_owned(),
        why: "TZ is not set, so glibc's localtime() asks at every call.".to_owned(),
        sites: Vec::new(),
        evidence: vec![Evidence {
            call: "newfstatat".to_owned(),
            path: "/etc/localtime".to_owned(),
            outcome: "ok".to_owned(),
            count: 101,
        }],
        remedies: vec![Remedy { change, safety }],
        rows: Vec::new(),
    }))
}

fn tz() -> Cause {
    let value = Some(":/etc/localtime".to_owned());
    finding("tz-unset", Change::SetEnv { variable: "TZ".to_owned(), value })
}

fn failed_opens(program: &str, calls: u64) -> Cause {
    let amount = Amount { calls, kernel_ns: Some(calls * 1000), user_ns: None };
    Cause::Unexplained(Box::new(Unexplained {
        program: program.to_owned(),
        processes: 2,
        call: "openat".to_owned(),
        query: Query::Open,
        reason: Unanswered::Failed(Errno(2)),
        amount,
        place: Some(("/usr/share/ruby/".to_owned(), calls)),
        site: None,
    }))
}

fn item(service: Option<&str>, program: &str, calls: u64, cause: Cause) -> Item {
    Item {
        service: service.map(str::to_owned),
        program: program.to_owned(),
        pids: vec![812],
        calls,
        ns: calls * 1000,
        cause,
    }
}

/// A window of two seconds with these.
fn sample(items: Vec<Item>) -> Sample {
    let of = |wanted: bool| {
        let some = items.iter().filter(|item| matches!(item.cause, Cause::Finding(_)) == wanted);
        some.map(|item| item.calls).sum::<u64>()
    };
    let (needless, unexplained) = (of(true), of(false));
    Sample {
        length_ns: 2 * SECOND,
        processes: 34,
        cpu_ns: SECOND,
        calls: 2 * (needless + unexplained),
        needless,
        unexplained,
        unjudged: unexplained,
        lost: 0,
        own_ns: SECOND / 100,
        items,
    }
}

/// A few services, of which the last one becomes busier and busier.
fn busy() -> State {
    let mut state = State::new(Who::Everyone, 2.0, Grouping::Unit);
    for at in 0..20 {
        state.take(sample(vec![
            item(Some("cron.service"), "sh (dash)", 400, tz()),
            item(Some("cron.service"), "ruby", 90, failed_opens("ruby", 90)),
            item(
                Some("container 3f2a9c1b7d4e (docker)"),
                "ruby",
                20 * at,
                failed_opens("ruby", 20 * at),
            ),
            item(None, "clock", 1000 * at * at, tz()),
        ]));
    }
    state
}

fn pressed(state: &mut State, bytes: &[u8]) -> Vec<Deed> {
    keys(bytes).into_iter().map(|key| state.press(key)).collect()
}

fn picture(state: &mut State, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let show = |frame: &mut ratatui_core::terminal::Frame<'_>| {
        state.page = page(frame.buffer_mut().area);
        draw(state, frame.buffer_mut(), false);
    };
    terminal.draw(show).unwrap();
    terminal.backend().to_string()
}

#[test]
fn the_list() {
    let mut state = busy();
    insta::assert_snapshot!("list_80", picture(&mut state, 80, 24));
    insta::assert_snapshot!("list_120", picture(&mut state, 120, 40));
}

#[test]
fn details_of_a_row_and_of_what_is_not_explained() {
    let mut state = busy();
    pressed(&mut state, b"\r");
    insta::assert_snapshot!("details", picture(&mut state, 80, 24));
    pressed(&mut state, b"\x1bG");
    pressed(&mut state, b"\x1b");
    pressed(&mut state, b"u\x1b[F\r");
    insta::assert_snapshot!("not_explained", picture(&mut state, 120, 40));
}

#[test]
fn before_the_first_window_and_when_there_is_nothing() {
    let mut state = State::new(Who::Unit("cron.service".to_owned()), 0.5, Grouping::Program);
    assert!(picture(&mut state, 80, 24).contains("observing …"));
    state.take(sample(Vec::new()));
    assert!(picture(&mut state, 80, 24).contains("nothing needless in the last minutes"));
    assert!(pressed(&mut state, b"\redp\x1b[A\x1b[B").iter().all(|deed| *deed == Deed::Nothing));
}

#[test]
fn a_small_terminal_says_so() {
    for (width, height) in [(79, 24), (80, 23), (20, 5), (1, 1)] {
        let small = picture(&mut busy(), width, height);
        assert!(!small.contains("CALLS/S"), "{small}");
    }
    assert!(picture(&mut busy(), 79, 24).contains("needs 80 x 24 characters"));
}

#[test]
fn each_key_stands_for_a_command() {
    let mut state = busy();
    assert_eq!(state.command, "needless host --for 10s");
    for (key, command) in [
        (&b"\r"[..], "needless attach --only 812 --for 10s -v --rule tz-unset"),
        (b"e", "needless explain tz-unset"),
        (b"d", "needless fix --pid 812 --set TZ=:/etc/localtime"),
        (b"p", "needless prove --pid 812 --save-before before.json"),
        (b"\x1b", "needless prove --pid 812 --save-before before.json"),
        (b" ", "needless host --for 10s"),
        (b" ", "needless host --for 10s"),
        (b"g", "needless top --group program"),
        (b"gg", "needless top --group unit"),
        (b"/o'k\r", r#"needless host --for 10s -v --format concise | grep -i 'o'\''k'"#),
    ] {
        pressed(&mut state, key);
        assert_eq!(state.command, command);
    }
    assert_eq!(state.commands.len(), 10, "each once: {:?}", state.commands);
    let mut state = busy();
    // The next one is a unit's.
    pressed(&mut state, b"jjd");
    assert_eq!(state.command, "needless fix --unit cron.service --set TZ=:/etc/localtime");
}

#[test]
fn keys_that_need_the_machine_ask_for_it() {
    let mut state = busy();
    let value = Some(":/etc/localtime".to_owned());
    let change = Change::SetEnv { variable: "TZ".to_owned(), value };
    assert_eq!(
        pressed(&mut state, b"ed"),
        [Deed::Explain("tz-unset".to_owned()), Deed::Diff { change, pid: Some(812), unit: None }]
    );
    assert_eq!(
        pressed(&mut state, b"\x1a\x0c\x03q"),
        [Deed::Stop, Deed::Redraw, Deed::Quit, Deed::Quit]
    );
    // In the filter, q is a letter.
    assert_eq!(pressed(&mut state, b"\x1b"), [Deed::Nothing]);
    assert_eq!(pressed(&mut state, b"/q\x03"), [Deed::Nothing, Deed::Nothing, Deed::Quit]);
    assert_eq!(state.filter, "q");
    // No rule explains the second row: nothing to explain, to change or to measure.
    let mut state = busy();
    pressed(&mut state, b"j");
    assert_eq!(pressed(&mut state, b"edp"), [Deed::Nothing, Deed::Nothing, Deed::Nothing]);
    assert!(picture(&mut state, 80, 24).contains("show each (u)"));
    pressed(&mut state, b"\x1b");
    pressed(&mut state, b"\r");
    assert_eq!(state.command, "needless host --for 10s -v", "it is about all of them");
    pressed(&mut state, b"u\x1b[F\r");
    assert_eq!(state.command, "needless attach --unit cron.service --for 10s -v");
}

#[test]
fn a_key_says_what_the_keys_do() {
    for key in [b"?", b"h"] {
        let mut state = busy();
        pressed(&mut state, key);
        let help = picture(&mut state, 80, 24);
        assert!(help.contains("-- keys --") && help.contains("Space   pause"), "{help}");
        assert!(!help.contains("more: ↓"), "it fits: {help}");
        pressed(&mut state, b"\x1b");
        assert!(picture(&mut state, 80, 24).contains("CALLS/S"));
    }
}

#[test]
fn a_pause_holds_the_picture_and_loses_no_window() {
    let mut state = busy();
    let before = state.rows[0].calls_per_s;
    pressed(&mut state, b" ");
    let more = |n| sample(vec![item(None, "clock", n, tz())]);
    state.take(more(2_000_000));
    assert_eq!(state.rows[0].calls_per_s, before);
    assert!(picture(&mut state, 80, 24).contains("PAUSED"));
    pressed(&mut state, b" ");
    assert!(state.rows[0].calls_per_s > before);
    assert_eq!(state.windows(), 21);
}

#[test]
fn a_filter_and_a_grouping_choose_among_the_rows() {
    let who =
        |state: &State| -> Vec<String> { state.rows.iter().map(|row| row.key.0.clone()).collect() };
    let mut state = busy();
    assert_eq!(who(&state), ["clock", "(all)", "cron.service"]);
    pressed(&mut state, b"u");
    assert_eq!(
        who(&state),
        ["clock", "cron.service", "container 3f2a9c1b7d4e (docker)", "cron.service"]
    );
    pressed(&mut state, b"/CLOCK\r");
    assert_eq!(who(&state), ["clock"]);
    pressed(&mut state, b"\x1b");
    assert_eq!(state.rows.len(), 4);
    pressed(&mut state, b"/RUBY\r");
    assert_eq!(state.rows.len(), 2, "the name of a program is searched, too");
    pressed(&mut state, b"\x1b");
    pressed(&mut state, b"g");
    assert_eq!(who(&state), ["clock", "ruby", "sh (dash)"]);
    // The two of ruby are one row, and so are its calls.
    let ruby = 90 + 20 * 17;
    assert_eq!(state.rows[1].calls_per_s, ruby / 2);
    pressed(&mut state, b"g");
    assert_eq!(who(&state), ["no container", "container 3f2a9c1b7d4e (docker)", "no container"]);
}

#[test]
fn the_chosen_row_stays_chosen_when_rows_move() {
    let mut state = busy();
    pressed(&mut state, b"uj");
    assert_eq!(state.rows[state.position()].key.0, "cron.service");
    for _ in 0..5 {
        state.take(sample(vec![item(Some("cron.service"), "sh (dash)", 9_000_000, tz())]));
    }
    assert_eq!(state.position(), 0);
    assert_eq!(state.rows[0].key.0, "cron.service");
    assert_eq!(state.rows[1].key.0, "clock", "it was seen in the last minutes");
    assert_eq!(state.rows[1].calls_per_s, 0);
    for _ in 0..60 {
        state.take(sample(Vec::new()));
    }
    assert!(state.rows.is_empty() && state.position() == 0);
    assert_eq!(state.press(Key::Enter), Deed::Nothing);
}

#[test]
fn nothing_from_a_program_reaches_the_terminal_raw() {
    let evil = "a\x1b]0;x\x07b\u{202e}\n\u{9b}c";
    let mut state = State::new(Who::Unit(evil.to_owned()), 2.0, Grouping::Unit);
    let change = Change::SetEnv { variable: evil.to_owned(), value: Some(evil.to_owned()) };
    state.take(sample(vec![
        item(Some(evil), evil, 9, finding("tz-unset", change)),
        item(Some(evil), evil, 5, failed_opens(evil, 5)),
    ]));
    for key in [&b" "[..], b"\r", b"p", b"\x1b", b"jj\r", b"d"] {
        pressed(&mut state, key);
        let picture = picture(&mut state, 120, 40);
        let raw = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!picture.contains(raw), "{picture:?}");
    }
    assert!(picture(&mut state, 120, 40).contains("\\x1b"));
}

#[test]
fn without_colours_there_are_none() {
    let mut state = busy();
    let area = Rect::new(0, 0, 100, 30);
    let of = |state: &State, colour| {
        let mut buffer = Buffer::empty(area);
        draw(state, &mut buffer, colour);
        let coloured =
            buffer.content.iter().any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset);
        let marked = buffer.content.iter().any(|cell| cell.modifier.contains(Modifier::REVERSED));
        (coloured, marked)
    };
    assert_eq!(of(&state, true), (true, true));
    assert_eq!(of(&state, false), (false, true), "the chosen row is marked all the same");
    pressed(&mut state, b"\r");
    assert!(!of(&state, false).0);
}
