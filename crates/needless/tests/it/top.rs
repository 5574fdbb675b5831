//! `needless top` in a real terminal: tmux's.

use crate::common::*;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// A program that asks for the zone file all the time, until it is dropped.
struct Offender(Child);

impl Offender {
    fn start() -> Option<Offender> {
        let mut clock = command(testee("clock_ticks")?);
        Some(Offender(clock.arg("200").env_remove("TZ").stdout(Stdio::null()).spawn().unwrap()))
    }
}

impl Drop for Offender {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A shell in a terminal of its own.
struct Tmux {
    tmux: PathBuf,
    folder: tempfile::TempDir,
}

impl Tmux {
    fn start() -> Option<Tmux> {
        let tmux = needed(needless_fixtures::referee::program("tmux"))?;
        let folder = tempfile::tempdir().unwrap();
        let tmux = Tmux { tmux, folder };
        tmux.ask(&["new-session", "-d", "-x", "80", "-y", "24", "bash --norc --noprofile -i"]);
        // The prompt is not in what is typed.
        tmux.line("PS1='rea''dy>'");
        tmux.wait("ready>", |screen| screen.trim_end().ends_with("ready>"));
        Some(tmux)
    }

    fn ask(&self, words: &[&str]) -> String {
        let mut tmux = command(&self.tmux);
        tmux.arg("-S").arg(self.folder.path().join("socket")).args(["-f", "/dev/null"]);
        let done = tmux.args(words).env("LC_ALL", "C.UTF-8").env("TERM", "xterm").output().unwrap();
        assert!(done.status.success(), "{words:?}: {}", stderr(&done));
        stdout(&done)
    }

    fn keys(&self, keys: &[&str]) {
        self.ask(&[&["send-keys"], keys].concat());
    }

    fn line(&self, text: &str) {
        self.ask(&["send-keys", "-l", text]);
        self.keys(&["Enter"]);
    }

    /// What a format of tmux stands for.
    fn value(&self, format: &str) -> String {
        self.ask(&["display-message", "-p", format]).trim().to_owned()
    }

    fn screen(&self) -> String {
        self.ask(&["capture-pane", "-p"])
    }

    /// The screen once it is as expected. The limit is only for a program that hangs.
    fn wait(&self, what: &str, expected: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let screen = self.screen();
            if expected(&screen) {
                return screen;
            }
            assert!(begun.elapsed() < Duration::from_secs(120), "no {what}:\n{screen}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn sees(&self, text: &str) -> String {
        self.wait(text, |screen| screen.contains(text))
    }

    /// The list, with the offender in its first row.
    fn sees_the_offender(&self) -> String {
        self.wait("offender in the first row", |screen| {
            let row = screen.lines().skip_while(|line| !line.contains("CALLS/S")).nth(1);
            row.is_some_and(|row| row.contains("tz-unset"))
        })
    }

    /// Starts `needless top WORDS` and waits for the offender.
    fn top(&self, words: &str) -> String {
        self.line(&format!("clear; {NEEDLESS} top {words}; echo left=$?"));
        self.sees_the_offender()
    }

    /// The process in the foreground.
    fn foreground(&self) -> String {
        let shell = self.value("#{pane_pid}");
        let children = format!("/proc/{shell}/task/{shell}/children");
        std::fs::read_to_string(children).unwrap().trim().to_owned()
    }

    /// Settings of the terminal, the screen that is in use, and whether there is a cursor.
    fn terminal(&self) -> String {
        let tty = self.value("#{pane_tty}");
        let settings = command("stty").args(["-F", &tty, "-g"]).output().unwrap();
        stdout(&settings) + &self.value("#{alternate_on} #{cursor_flag}")
    }

    /// Waits until the shell has the terminal again.
    fn sees_the_prompt_and(&self, text: &str) {
        self.wait(text, |screen| screen.contains(text) && screen.trim_end().ends_with("ready>"));
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.ask(&["kill-server"]);
    }
}

#[test]
fn the_offender_is_on_top_and_keys_say_more_about_it() {
    if !observes_others() {
        return;
    }
    let (Some(tmux), Some(offender)) = (Tmux::start(), Offender::start()) else { return };
    let before = tmux.terminal();
    let list = tmux.top("");
    assert!(list.contains("by unit") && list.contains("needless itself:"), "{list}");
    tmux.keys(&["g"]);
    let pid = offender.0.id();
    tmux.wait("row of the program", |screen| {
        screen.lines().nth(3).is_some_and(|row| row.contains("clock_ticks"))
    });
    tmux.keys(&["Enter"]);
    let details = tmux.sees("-- details --");
    // Other tests may have an offender, too.
    let processes = details.lines().find(|line| line.contains("processes: ")).unwrap();
    assert!(processes.contains(&pid.to_string()), "{details}");
    assert!(details.contains("/etc/localtime"), "{details}");
    tmux.keys(&["e"]);
    tmux.sees("$ needless explain tz-unset");
    tmux.keys(&["d"]);
    let diff = tmux.sees("-- the fix, which is not written here --");
    assert!(diff.contains("$ needless fix "), "{diff}");
    tmux.keys(&["p"]);
    tmux.sees("--save-before before.json");
    tmux.keys(&["Escape"]);
    tmux.sees("CALLS/S");
    tmux.keys(&["Space"]);
    tmux.sees("PAUSED");
    tmux.keys(&["Space"]);
    tmux.wait("end of the pause", |screen| !screen.contains("PAUSED"));
    tmux.keys(&["/"]);
    tmux.sees("filter: _");
    tmux.keys(&["-l", "no such row"]);
    tmux.sees("nothing that the filter matches");
    tmux.keys(&["Escape"]);
    tmux.sees_the_offender();
    tmux.keys(&["q"]);
    tmux.sees_the_prompt_and("left=0");
    let left = tmux.screen();
    assert!(left.contains("The same on the command line:"), "{left}");
    assert!(left.contains("needless explain tz-unset"), "{left}");
    assert_eq!(tmux.terminal(), before);
}

#[test]
fn the_terminal_is_given_back_however_it_ends() {
    if !observes_others() {
        return;
    }
    let (Some(tmux), Some(offender)) = (Tmux::start(), Offender::start()) else { return };
    let before = tmux.terminal();
    let only = offender.0.id().to_string();
    for (signal, key) in
        [(None, "C-c"), (Some("-TERM"), ""), (Some("-HUP"), ""), (Some("-INT"), "")]
    {
        tmux.top(&only);
        assert_ne!(tmux.terminal(), before);
        match signal {
            Some(signal) => {
                let kill = [signal, &tmux.foreground()];
                assert!(command("kill").args(kill).status().unwrap().success());
            }
            None => tmux.keys(&[key]),
        }
        tmux.sees_the_prompt_and("left=0");
        assert_eq!(tmux.terminal(), before, "{signal:?} {key}");
    }
}

#[test]
fn it_survives_a_stop_and_another_size() {
    if !observes_others() {
        return;
    }
    let (Some(tmux), Some(offender)) = (Tmux::start(), Offender::start()) else { return };
    let before = tmux.terminal();
    tmux.top(&offender.0.id().to_string());
    let during = tmux.terminal();
    tmux.keys(&["C-z"]);
    tmux.sees_the_prompt_and("Stopped");
    assert_eq!(tmux.terminal(), before);
    tmux.line("clear; fg; echo left=$?");
    tmux.sees_the_offender();
    assert_eq!(tmux.terminal(), during);
    // By a signal from elsewhere, too.
    let stop = ["-TSTP", &tmux.foreground()];
    assert!(command("kill").args(stop).status().unwrap().success());
    tmux.sees_the_prompt_and("Stopped");
    assert_eq!(tmux.terminal(), before);
    tmux.line("clear; fg; echo left=$?");
    tmux.sees_the_offender();

    let resize = |x: &str, y: &str| tmux.ask(&["resize-window", "-x", x, "-y", y]);
    resize("120", "40");
    tmux.wait("last line of 40", |screen| {
        screen.lines().nth(39).is_some_and(|line| line.starts_with("Enter details"))
    });
    resize("60", "20");
    tmux.sees("this terminal has 60");
    resize("80", "24");
    tmux.wait("last line of 24", |screen| {
        screen.lines().nth(23).is_some_and(|line| line.starts_with("Enter details"))
    });
    tmux.sees_the_offender();
    // When nothing is left to observe.
    drop(offender);
    tmux.sees("all ended");
    tmux.keys(&["q"]);
    tmux.sees_the_prompt_and("left=0");
    assert_eq!(tmux.terminal(), before);
}

/// Three services do the same; each list has the one that was asked for, and no other.
#[test]
fn only_a_unit_or_a_container_is_shown() {
    if !observes_others() {
        return;
    }
    let Some(machine) = crate::booted::machine::Machine::boot(&[]) else { return };
    let (Some(clock), Some(tmux)) = (testee("clock_ticks"), Tmux::start()) else { return };
    // The name that docker gives the control group of a container.
    let id = "c0ffee".repeat(11)[..64].to_owned();
    for unit in ["needless-one", "needless-two"] {
        machine.bring(std::path::Path::new(&clock), &format!("/run/{unit}"));
        machine.ok(&format!("systemd-run --unit {unit} env -u TZ /run/{unit} 200"));
    }
    machine.bring(std::path::Path::new(&clock), "/run/in-container");
    let scope = format!("systemd-run --scope --unit docker-{id} env -u TZ /run/in-container 200");
    let mut container = machine.start(&scope);
    machine.pid_of("/run/in-container 200", "");
    let before = tmux.terminal();
    for (words, has) in [
        ("--unit needless-one", "needless-one"),
        ("--unit needless-two.service --group program", "needless-two"),
        (&format!("--container {}", &id[..12]), "c0ffee"),
        (&format!("--container {} --group program", &id[..12]), "in-container"),
    ] {
        tmux.line(&format!(
            "clear; {} /usr/local/bin/needless top {words}; echo left=$?",
            machine.entering()
        ));
        let list = tmux.sees_the_offender();
        let rows: Vec<&str> = list.lines().filter(|line| line.contains("tz-unset")).collect();
        assert!(rows.len() == 1 && rows[0].contains(has), "{words}: {list}");
        tmux.keys(&["q"]);
        tmux.sees_the_prompt_and("left=0");
        assert_eq!(tmux.terminal(), before);
    }
    drop(machine);
    container.wait().unwrap();
}

#[test]
fn rules_and_suppressions_of_the_configuration_count() {
    if !observes_others() {
        return;
    }
    let (Some(tmux), Some(offender)) = (Tmux::start(), Offender::start()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("needless.toml");
    let rule = "[[rule]]\nname = 'clock-on-wall'\ncalls = ['stat', 'open']\npath = '/etc/localtim*'\n\
                message = 'looks at the clock'\nwhy = 'A test.'\n\
                remedy = { text = 'Buy a watch.', caveat = 'It costs money.' }\n\
                [[rule.example]]\ntrace = 'stat(\"/etc/x\") = 0'\nfinding = 'nothing'\n\
                [[rule.example]]\nfinding = 'clock-on-wall: 6 of 6'\n\
                trace = 'stat(\"/etc/localtimes\") = 0 x6'\n";
    let ignored = "[[ignore]]\nrule = 'tz-unset'\nreason = 'a test'\n";
    std::fs::write(&config, format!("{ignored}{rule}")).unwrap();
    let words = format!("--config {} {}", config.display(), offender.0.id());
    tmux.line(&format!("clear; {NEEDLESS} top {words}; echo left=$?"));
    let list = tmux.sees("Buy a watch.");
    assert!(!list.contains("tz-unset"), "{list}");
    tmux.keys(&["q"]);
    tmux.sees_the_prompt_and("left=0");
}

#[test]
fn colours_are_as_the_user_wants() {
    if !observes_others() {
        return;
    }
    let (Some(tmux), Some(offender)) = (Tmux::start(), Offender::start()) else { return };
    let pid = offender.0.id();
    // The command in the footer is in colour.
    let coloured = || {
        let screen = tmux.ask(&["capture-pane", "-p", "-e"]);
        let footer = screen.lines().find(|line| line.contains("$ needless attach")).unwrap();
        // Cyan, as a terminal of 8 or of 256 colours gets it.
        footer.contains("\x1b[36m") || footer.contains("\x1b[38;5;6m")
    };
    for (words, expected) in [(format!("{pid}"), true), (format!("{pid} --color never"), false)] {
        tmux.top(&words);
        assert_eq!(coloured(), expected, "{words}");
        tmux.keys(&["q"]);
        tmux.sees_the_prompt_and("left=0");
    }
    tmux.line("export NO_COLOR=1");
    tmux.top(&pid.to_string());
    assert!(!coloured());
    tmux.keys(&["q"]);
    tmux.sees_the_prompt_and("left=0");
}

#[test]
fn without_a_terminal_or_rights_one_line_says_what_to_do() {
    let done = needless(&["top"]);
    assert_eq!(done.status.code(), Some(2));
    let said = stderr(&done);
    assert!(said.lines().count() == 1 && said.contains("needless host"), "{said}");
    let short = needless(&["top", "--interval", "1ms"]);
    assert!(stderr(&short).contains("500ms or more"), "{}", stderr(&short));

    if root().is_none() {
        return;
    }
    let Some(tmux) = Tmux::start() else { return };
    let before = tmux.terminal();
    let less = "setpriv --bounding-set=-bpf,-sys_admin,-perfmon";
    tmux.line(&format!("clear; {less} {NEEDLESS} top; echo left=$?"));
    tmux.sees_the_prompt_and("left=2");
    assert!(tmux.screen().replace('\n', "").contains("needs CAP_BPF and CAP_PERFMON"));
    tmux.line(&format!("clear; TERM=dumb {NEEDLESS} top; echo dumb=$?"));
    tmux.sees_the_prompt_and("dumb=2");
    assert!(tmux.screen().replace('\n', "").contains("needless host"));
    assert_eq!(tmux.terminal(), before);
}
