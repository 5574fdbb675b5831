//! What `needless COMMAND --help` ends with. A test runs the lines in a shell.

pub(super) const RUN: &str = "\
Examples:
  # the report goes to standard error, after the command has ended
  needless run -- date
  # to files, each in the format of its ending
  needless run -o report.json -o report.md -- ls -l
  # status 1 if more than small things are needless
  needless run --fail-on large -- date";

pub(super) const ATTACH: &str = "\
Examples (as root):
  # two seconds of each process with this name
  needless attach --for 2s $(pidof myapp)
  # a report for needless fix and needless prove
  needless attach --for 2s -o myapp.json $(pidof myapp)";

pub(super) const HOST: &str = "\
Examples (as root):
  # the most expensive remedies of two seconds
  needless host --for 2s
  # all of them, to a file
  needless host --for 2s --top 0 -o host.txt";

pub(super) const AGENT: &str = "\
Examples (as root):
  # a file each second, and the numbers for Prometheus in another; for three seconds
  timeout 3 needless agent --dir windows --every 1s --textfile needless.prom || [ $? = 124 ]";

pub(super) const SHIP: &str = "\
Examples:
  # all windows that are not there yet
  mkdir -p windows && needless ship --dir windows all-hosts";

pub(super) const READ: &str = "\
Examples:
  # a log with everything that needless can use
  strace -f -tt -T -y -v -s 4096 -o ls.strace ls -l
  needless read ls.strace
  # stacks for a flame graph
  needless read -o ls.folded ls.strace";

pub(super) const PRELOAD: &str = "\
Examples:
  needless preload -- date
  # the variable for a unit or a container
  needless preload --print";

pub(super) const ORIGIN: &str = "\
Examples:
  # of this shell
  needless origin TZ $$
  # with the files that set it and do not reach the process
  needless origin --all PATH $$
  # which program of a command changes it
  needless origin PATH -- sh -c true";

pub(super) const FIX: &str = "\
Examples:
  # only show the change, as a diff
  needless fix --diff --set TZ=UTC --in Dockerfile
  # a line for the Dockerfile
  needless fix --format dockerfile --set TZ=UTC --in Dockerfile";

pub(super) const UNDO: &str = "\
Examples:
  # the changes, with their numbers
  needless undo --list";

pub(super) const PROVE: &str = "\
Examples:
  # count the calls with and without the change
  needless prove --set TZ=UTC --count-only -- find /usr/share/doc -printf '%t\\n'
  # and measure the time, in ten pairs of runs
  needless prove --set TZ=UTC --runs 10 -- find /usr/share/doc -printf '%t\\n'";

pub(super) const DIFF: &str = "\
Examples:
  needless run --format profile -o before -- ls
  needless run --format profile -o after -- ls -l
  # which calls came, went, grew
  needless diff before after";

pub(super) const EXPLAIN: &str = "\
Examples:
  # the list of rules, also with the variables that each reads
  needless explain
  needless explain --format json
  # the page of one, and of all
  needless explain tz-unset
  needless explain --all";

pub(super) const DOCTOR: &str = "\
Examples:
  needless doctor";

pub(super) const COMPLETIONS: &str = "\
Examples:
  # for this shell; in ~/.bashrc for each
  source <(needless completions bash)
  # where fish looks for it: ~/.config/fish/completions
  needless completions fish > needless.fish";

pub(super) const MAN: &str = "\
Examples:
  # the names of all pages
  needless man
  # where man looks for it: a directory man1 below a directory of MANPATH
  needless man needless-run.1 > needless-run.1";

pub(super) const SHOW: &str = "\
Examples:
  needless run -o report.json -- ls -l
  needless show report.json
  # a page to look at and to send
  needless show -o report.html report.json";

pub(super) const CHECK: &str = "\
Examples:
  # writes a budget into needless.toml
  needless check --update -- ls -l
  # status 1 if more calls are made than that
  needless check -- ls -l";
