//! One run of a case: in its folder, its environment and, if it changes the machine, private namespaces; under
//! strace or needless.

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const TWENTY: &str = "@/p1:@/p2:@/p3:@/p4:@/p5:@/p6:@/p7:@/p8:@/p9:@/p10:@/p11:@/p12:@/p13:@/p14:@/p15:@/p16:@/p17:@/p18:@/p19:@/p20";

/// The functions that the scripts around a run use.
const WORDS: &str = r#"
own() {
    mkdir -p "$PWD/own"
    mountpoint -q "$PWD/own" || mount -t tmpfs own "$PWD/own"
    layer=$PWD/own/$(echo "$1" | tr / _)
    mkdir -p "$layer/upper" "$layer/work"
    mount -t overlay overlay -o "lowerdir=$1,upperdir=$layer/upper,workdir=$layer/work" "$1"
}
when() {
    tries=0
    until perl -MIO::Socket::INET -e 'exit !IO::Socket::INET->new("127.0.0.1:$ARGV[0]")' "$1"; do
        tries=$((tries + 1))
        [ $tries -lt 300 ] || { echo "$1" >"$PWD/unanswered"; exit 1; }
        sleep 0.05
    done
}
helpers=
"#;

const WITHOUT_WAITS: &str =
    "trace=!futex,nanosleep,clock_nanosleep,sched_yield,tgkill,rt_sigreturn,restart_syscall";

/// What observes a run.
#[derive(Clone, Copy)]
pub(super) enum CaseBackend {
    /// `run --backend ptrace`.
    Ptrace,
    /// `run --backend ebpf`.
    Ebpf,
    /// `read` of a log of strace, with the environments or without.
    Log(bool),
}

impl CaseBackend {
    /// Its name in the output.
    pub(super) fn name(self) -> &'static str {
        match self {
            CaseBackend::Ptrace => "ptrace",
            CaseBackend::Ebpf => "ebpf",
            CaseBackend::Log(_) => "log",
        }
    }
}

/// What all runs have in common.
pub(super) struct CaseStage {
    needless: PathBuf,
    /// The root of the daemons that are not installed but unpacked.
    unpacked: PathBuf,
    /// The directories of PostgreSQL's programs, each with a colon before it.
    postgres: String,
    /// The folder of [`CaseStage::locales`], once they were made.
    locales: OnceCell<Option<tempfile::TempDir>>,
    /// The directory of cargo and rustc themselves, not of a launcher for them; a colon before it.
    rust: String,
    /// The directory of Go, which is often outside the usual ones; a colon before it.
    go: String,
}

/// What a rule found.
#[derive(Clone, Debug)]
pub(super) struct Reported {
    pub(super) rule: String,
    /// Calls that its remedies would save, with those that come with the needless ones.
    pub(super) saved: i64,
    /// Its remedies that change a variable.
    pub(super) remedies: Vec<CaseRemedy>,
}

/// A variable to set, to remove (no value), or to shorten (entries to take out).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CaseRemedy {
    variable: String,
    value: Option<String>,
    without: Vec<String>,
}

impl CaseRemedy {
    /// As a person would write it.
    pub(super) fn words(&self) -> String {
        match &self.value {
            _ if !self.without.is_empty() => {
                format!("{} without {} entries", self.variable, self.without.len())
            }
            Some(value) => format!("{}={value}", self.variable),
            None => format!("unset {}", self.variable),
        }
    }

    /// `@` stands for the folder of the run.
    fn of(remedy: &Value, folder: &str) -> Option<CaseRemedy> {
        let variable = remedy["variable"].as_str()?.to_owned();
        let value = remedy["value"].as_str().map(str::to_owned);
        let sets = match remedy["kind"].as_str()? {
            // Without a value: the report does not know the right one.
            "set_env" => value.is_some(),
            "unset_env" | "without_entries" => true,
            _ => false,
        };
        // Also those that a person must decide about: they decide about other effects, not about the savings.
        let entries = remedy["entries"].as_array().into_iter().flatten();
        let without =
            entries.filter_map(|entry| Some(entry.as_str()?.replace(folder, "@"))).collect();
        sets.then_some(CaseRemedy { variable, value, without })
    }
}

/// A program in one of its environments.
pub(super) struct Run {
    folder: PathBuf,
    variables: Vec<String>,
    line: String,
    pub(super) around: String,
    /// Whether it must end with status 0.
    pub(super) succeeds: bool,
}

impl CaseStage {
    /// With this build of needless, in this checkout.
    pub(super) fn new(needless: PathBuf, root: &Path) -> CaseStage {
        let unpacked = root.join("target/tools/cases");
        let places = [PathBuf::from("/usr/lib/postgresql"), unpacked.join("usr/lib/postgresql")]
            .into_iter()
            .filter_map(|place| std::fs::read_dir(place).ok())
            .flatten()
            .filter_map(|version| Some(version.ok()?.path().join("bin")))
            .filter(|bin| bin.join("postgres").exists());
        let postgres = places.map(|bin| format!(":{}", bin.display())).collect();
        let cargo = std::env::var_os("CARGO").map(PathBuf::from);
        let rust = cargo.as_deref().and_then(Path::parent);
        let rust = rust.map(|bin| format!(":{}", bin.display())).unwrap_or_default();
        let go = crate::on_path("go").map(|bin| format!(":{}", bin.display())).unwrap_or_default();
        CaseStage { needless, unpacked, postgres, locales: OnceCell::new(), rust, go }
    }

    /// The usual directories, those of unpacked packages, and those of the compilers.
    pub(super) fn path(&self) -> String {
        let CaseStage { rust, go, postgres, .. } = self;
        let unpacked = self.unpacked.display();
        format!(
            "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:\
             {unpacked}/usr/sbin:{unpacked}/usr/bin{rust}{go}{postgres}"
        )
    }

    /// Why this cannot be run here.
    pub(super) fn missing(&self, line: &str, needs: &str, around: &str) -> Option<String> {
        let first = line.split_whitespace().next().unwrap_or("");
        let shell = |script: &str| {
            let mut shell = Command::new("sh");
            shell.env("PATH", self.path()).args(["-c", script]).output()
        };
        let works = |script: &str| shell(script).is_ok_and(|out| out.status.success());
        for program in [first, "strace"].into_iter().chain(needs.split_whitespace()) {
            if !program.contains('@') && !works(&format!("command -v {program}")) {
                return Some(format!("{program} is not installed"));
            }
        }
        let namespaces = around.is_empty() || works("unshare --mount --net true");
        (!namespaces).then(|| "namespaces of its own need root".to_owned())
    }

    /// The begin of a script around a run that needs en_US.UTF-8 in the locale archive, as Debian's own tools install
    /// it; compiled once. `None` if it cannot be compiled.
    pub(super) fn locales(&self) -> Option<String> {
        let folder = self.locales.get_or_init(|| {
            let folder = tempfile::tempdir().ok()?;
            let script = "mkdir -p usr/lib/locale; [ ! -d /usr/lib/locale/C.utf8 ] || cp -r /usr/lib/locale/C.utf8 usr/lib/locale; \
                          localedef --prefix=@ -i en_US -f UTF-8 en_US.UTF-8; chmod -R a+rX .";
            prepare(self, folder.path(), script).ok().map(|()| folder)
        });
        let folder = folder.as_ref()?.path().join("usr/lib/locale");
        Some(format!("mount --bind {} /usr/lib/locale; ", folder.display()))
    }

    /// The texts of a case with everything filled in.
    pub(super) fn run_of(
        &self,
        folder: &Path,
        arm: &str,
        variables: &str,
        line: &str,
        around: &str,
    ) -> Run {
        let here = folder.display().to_string();
        let fill =
            |text: &str| text.replace("TWENTY", TWENTY).replace("ARM", arm).replace('@', &here);
        let mut all = vec![format!("PATH={}", self.path()), "HOME=/root".to_owned()];
        for word in fill(variables).split_whitespace() {
            let name = word.split_once('=').map_or(word, |(name, _)| name);
            all.retain(|other| other.split_once('=').is_none_or(|(other, _)| other != name));
            all.push(word.replace('␣', " "));
        }
        let (line, around) = (fill(line), fill(around));
        Run { folder: folder.to_owned(), variables: all, line, around, succeeds: false }
    }

    /// Runs it under `watcher`, whose own environment has no effect on it.
    fn perform(&self, run: &Run, watcher: &[&str], sets: bool) -> Result<()> {
        let mut words: Vec<String> = watcher.iter().map(|word| (*word).to_owned()).collect();
        let mut first: Vec<String> = vec![format!("PATH={}", self.path())];
        if sets {
            words.extend(run.variables.iter().flat_map(|set| ["-E".to_owned(), set.clone()]));
        } else {
            first.clone_from(&run.variables);
        }
        words.extend(["/bin/sh".to_owned(), "-c".to_owned(), format!("exec {}", run.line)]);
        let mut command = Command::new("env");
        command.arg("-i").current_dir(&run.folder);
        if run.around.is_empty() {
            command.args(&first).args(&words);
        } else {
            // Only the watcher gets the variables of the run; the script around it has the usual ones.
            let script = format!(
                "set -e\n{WORDS}{}\nset +e\nenv -i \"$@\"\nfor helper in $helpers; do kill $helper; wait $helper; done\ntrue",
                run.around
            );
            command.arg(format!("PATH={}", self.path())).arg("HOME=/root");
            let apart = "timeout -k 5 120 unshare --mount --net --propagation private";
            command
                .args(apart.split(' '))
                .args(["sh", "-c", &script, "sh"])
                .args(&first)
                .args(&words);
        }
        let unanswered = run.folder.join("unanswered");
        let _ = std::fs::remove_file(&unanswered);
        command.stdin(Stdio::null()).stderr(std::fs::File::create(run.folder.join("stderr"))?);
        // In a file: buffers are as large as for any file.
        let status = command.stdout(std::fs::File::create(run.folder.join("stdout"))?).status()?;
        ensure!(status.success() || !run.succeeds, "{}: {status}: {}", run.line, run.said());
        ensure!(
            run.around.is_empty() || status.success(),
            "{}: around it: {}",
            run.line,
            run.said()
        );
        // A server that did not start makes few calls: that nothing is found in it would prove nothing.
        ensure!(!unanswered.exists(), "{}: it answered no request: {}", run.line, run.said());
        Ok(())
    }

    /// All calls of the command, as strace counts them, without those by which threads wait for each other: their
    /// number depends on how much tracing slows each thread.
    pub(super) fn count(&self, run: &Run) -> Result<u64> {
        let out = run.folder.join("strace.count");
        let to = out.display().to_string();
        let watcher = ["/usr/bin/strace", "-f", "-c", "-e", WITHOUT_WAITS, "-o", &to];
        self.perform(run, &watcher, true)?;
        let table = std::fs::read_to_string(&out)
            .with_context(|| format!("strace of {} wrote nothing: {}", run.line, run.said()))?;
        let total = table.lines().rfind(|line| line.ends_with(" total")).context("no total")?;
        Ok(total.split_whitespace().nth(3).context("no total")?.parse()?)
    }

    /// What the rules find; `all`: in every call, also where a backend can leave some out.
    pub(super) fn judge(
        &self,
        run: &Run,
        backend: CaseBackend,
        (pedantic, all): (bool, bool),
    ) -> Result<Vec<Reported>> {
        let report = run.folder.join("report.json");
        let _ = std::fs::remove_file(&report);
        let (program, to) = (self.needless.display().to_string(), report.display().to_string());
        let pedantic: &[&str] = if pedantic { &["--pedantic"] } else { &[] };
        let reported = ["--format", "json", "-o", &*to];
        match backend {
            CaseBackend::Log(environment) => {
                let log = run.folder.join("strace.log").display().to_string();
                let mut watcher = vec!["/usr/bin/strace", "-f", "-o", &log];
                if environment {
                    watcher.extend(["-e", "abbrev=!execve", "-s", "4096"]);
                }
                self.perform(run, &watcher, true)?;
                let mut read = Command::new(&self.needless);
                read.arg("read").args(pedantic).args(reported).arg(&log).output()?;
            }
            CaseBackend::Ptrace | CaseBackend::Ebpf => {
                let start = [&*program, "run", "--backend", backend.name()];
                let all: &[&str] = if all { &["--all"] } else { &[] };
                self.perform(run, &[&start, pedantic, all, &reported, &["--"]].concat(), false)?;
            }
        }
        let text = std::fs::read_to_string(&report).with_context(|| {
            format!("no report of {} ({}): {}", run.line, backend.name(), run.said())
        })?;
        let report: Value = serde_json::from_str(&text)?;
        let Some(findings) = report["findings"].as_array() else {
            bail!("a report without findings")
        };
        // Without --all only what rules ask about is counted; no finding may have more.
        let calls = report["totals"]["calls"].as_u64().unwrap_or(0);
        let needless: u64 = findings.iter().filter_map(|f| f["needless"].as_u64()).sum();
        ensure!(needless <= calls, "{}: {needless} needless calls of {calls} counted", run.line);
        let folder = run.folder.display().to_string();
        let remedies = |of: &Value| {
            let all = of["remedies"].as_array().map_or(&[][..], Vec::as_slice);
            all.iter().filter_map(|remedy| CaseRemedy::of(remedy, &folder)).collect()
        };
        let reported = findings.iter().map(|f| Reported {
            rule: f["rule"].as_str().unwrap_or("?").to_owned(),
            saved: f["needless"].as_i64().unwrap_or(0) + f["besides"].as_i64().unwrap_or(0),
            remedies: remedies(f),
        });
        Ok(reported.collect())
    }

    /// The proof of a remedy: calls counted with and without it.
    pub(super) fn prove(
        &self,
        run: &Run,
        backend: CaseBackend,
        remedy: &CaseRemedy,
    ) -> Result<Value> {
        let file = run.folder.join("proof.json");
        let _ = std::fs::remove_file(&file);
        let (program, to) = (self.needless.display().to_string(), file.display().to_string());
        let change = match &remedy.value {
            _ if !remedy.without.is_empty() => {
                let blank = remedy.variable == "TCLLIBPATH";
                let pattern = remedy.without.iter().any(|entry| entry.contains('?'));
                let separator = if blank {
                    " "
                } else if pattern {
                    ";"
                } else {
                    ":"
                };
                let entries = remedy.without.join(separator);
                // Each proof has a folder of its own.
                let entries = entries.replace('@', &run.folder.display().to_string());
                ["--without".to_owned(), format!("{}={entries}", remedy.variable)]
            }
            Some(value) => ["--set".to_owned(), format!("{}={value}", remedy.variable)],
            None => ["--unset".to_owned(), remedy.variable.clone()],
        };
        // The output is not compared: some programs print times and process ids.
        let how = ["--count-only", "--ignore-output", ".*", "--backend", backend.name()];
        let start = [&*program, "prove", "-o", &to, &change[0], &change[1]];
        self.perform(run, &[&start[..], &how, &["--"]].concat(), false)?;
        let text = std::fs::read_to_string(&file)
            .with_context(|| format!("prove of {} wrote nothing: {}", run.line, run.said()))?;
        Ok(serde_json::from_str(&text)?)
    }
}

impl Run {
    /// The last line of its standard error.
    fn said(&self) -> String {
        let text = std::fs::read(self.folder.join("stderr")).unwrap_or_default();
        String::from_utf8_lossy(&text).lines().last().unwrap_or("no message").to_owned()
    }
}

/// Makes the files that a case works on.
pub(super) fn prepare(stage: &CaseStage, folder: &Path, script: &str) -> Result<()> {
    let script = script.replace('@', &folder.display().to_string());
    let mut shell = Command::new("sh");
    shell.args(["-ec", &script]).current_dir(folder).env("PATH", stage.path());
    let out = shell.stdin(Stdio::null()).output()?;
    let said = String::from_utf8_lossy(&out.stderr);
    ensure!(out.status.success(), "cannot prepare: {script}\n{said}");
    Ok(())
}
