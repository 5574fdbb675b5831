//! The options of `completions`, and the scripts.
//!
//! The parts for each shell that are written here by hand do what clap_complete cannot. Its scripts know no command
//! that another one runs. Its engine, which asks the program itself at each press of the key, does not either: in
//! version 4.6 `ValueHint::CommandWithArguments`, `CommandString` and `Username` are "No completion implementation"
//! there, and the whole engine is behind a feature named unstable. What is typed after `needless run --` would then
//! have no completion.

use super::Cli;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, Args, Command, CommandFactory, ValueEnum, ValueHint};
use clap_complete::{Shell, generate};
use needless_environment::SNIPPETS;

#[derive(Args)]
pub(crate) struct CompletionsArgs {
    /// The shell that reads the script.
    #[arg(value_name = "SHELL")]
    shell: CompletedShell,
}

/// The shells in which the scripts are tested.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CompletedShell {
    Bash,
    Zsh,
    Fish,
}

/// The script for a shell.
pub(crate) fn completions(args: &CompletionsArgs) -> Vec<u8> {
    let shell = match args.shell {
        CompletedShell::Bash => Shell::Bash,
        CompletedShell::Zsh => Shell::Zsh,
        CompletedShell::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    let mut command = with_values(Cli::command());
    generate(shell, &mut command, "needless", &mut script);
    match args.shell {
        CompletedShell::Bash => script.extend(bash_rest(&command).into_bytes()),
        CompletedShell::Zsh => return zsh_commands(script, &command),
        CompletedShell::Fish => script.extend(fish_rest(&command).into_bytes()),
    }
    script
}

/// The command line with what each value is, by the name that the help has for it. Only for these scripts: to the
/// parser itself a rule may also be one that needless.toml declares, and its messages about formats are those of each
/// format.
fn with_values(command: Command) -> Command {
    let command = command.mut_args(|arg| with_value(arg, ""));
    command.mut_subcommands(|one| {
        let of = one.get_name().to_owned();
        one.mut_args(|arg| with_value(arg, &of))
    })
}

fn with_value(arg: Arg, of: &str) -> Arg {
    if !arg.get_action().takes_values() || !arg.get_possible_values().is_empty() {
        return arg;
    }
    let name = arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
    let hint = match name.as_deref().unwrap_or_default() {
        "RULE" => {
            let rules = needless_rules::RULES.iter();
            let rules = rules.map(|rule| PossibleValue::new(rule.name).help(rule.summary));
            return arg.value_parser(PossibleValuesParser::new(rules));
        }
        "FORMAT" => return arg.value_parser(PossibleValuesParser::new(formats(of))),
        "USER" => ValueHint::Username,
        "CMD" if arg.is_positional() => ValueHint::CommandWithArguments,
        // For sh -c.
        "CMD" => ValueHint::CommandString,
        "DIR" | "DIRECTORY" => ValueHint::DirPath,
        "PATH" if arg.get_id() == "cgroup" => ValueHint::DirPath,
        // In bash, only this one puts a slash after a directory.
        _ if arg.get_value_hint() == ValueHint::AnyPath => ValueHint::FilePath,
        // Rather nothing than names of files.
        _ => ValueHint::Other,
    };
    arg.value_hint(hint)
}

/// The formats of a command; a test compares them with what its parser says.
fn formats(of: &str) -> Vec<&'static str> {
    let names = match of {
        "fix" => return SNIPPETS.iter().map(|format| format.name).collect(),
        "explain" => "full json",
        "prove" | "diff" => "full markdown html json",
        "check" => "full markdown json github sarif junit",
        // Of all documents: which one FILE is, is not known yet.
        "show" => "full concise markdown html json folded speedscope pprof sarif github junit",
        _ => "full concise markdown html json profile folded speedscope pprof sarif github",
    };
    names.split(' ').collect()
}

/// What the scripts have to know of a command that needless runs: clap_complete has no word for it in bash and fish.
struct Runs {
    /// The commands of needless after which it may follow without `--`.
    free: Vec<String>,
    /// Those, and the ones after which it follows `--`.
    all: Vec<String>,
    /// The options before it whose value is the next word.
    with_value: Vec<String>,
}

impl Runs {
    fn of(command: &Command) -> Runs {
        let runs = |one: &&Command| one.get_positionals().any(is_run);
        let free = |one: &&Command| one.get_positionals().any(Arg::is_trailing_var_arg_set);
        let all: Vec<&Command> = command.get_subcommands().filter(runs).collect();
        let name = |one: &&Command| one.get_name().to_owned();
        let options = all.iter().flat_map(|one| one.get_opts());
        let mut with_value: Vec<String> = options.flat_map(spellings).collect();
        with_value.sort();
        with_value.dedup();
        Runs {
            free: all.iter().copied().filter(free).map(|one| name(&one)).collect(),
            all: all.iter().map(name).collect(),
            with_value,
        }
    }
}

fn is_run(arg: &Arg) -> bool {
    arg.get_value_hint() == ValueHint::CommandWithArguments
}

/// `-o`, `--output`.
fn spellings(option: &Arg) -> Vec<String> {
    let short = option.get_short().map(|short| format!("-{short}"));
    short.into_iter().chain(option.get_long().map(|long| format!("--{long}"))).collect()
}

/// What clap_complete leaves out for bash: a command that needless runs, values after `=` (which begins a word of its
/// own there), users and commands.
fn bash_rest(command: &Command) -> String {
    let runs = Runs::of(command);
    let patterns = |before: &str, after: &str, words: &[String]| {
        let patterns = words.iter().map(|word| format!("{before}{word}{after}"));
        patterns.collect::<Vec<_>>().join(" | ")
    };
    let hinted = |hint: ValueHint| {
        let options = command.get_subcommands().flat_map(Command::get_opts);
        let options = options.filter(|option| option.get_value_hint() == hint);
        let mut words: Vec<String> = options.flat_map(spellings).collect();
        words.sort();
        words.dedup();
        patterns("", "", &words)
    };
    BASH.replace("WITH_VALUE", &patterns("*,", "", &runs.with_value))
        .replace("DASHES", &patterns("", ",--", &runs.all))
        .replace("FREE_WORD", &patterns("", ",*", &runs.free))
        .replace("USERS", &hinted(ValueHint::Username))
        .replace("COMMANDS", &hinted(ValueHint::CommandString))
}

/// bash-completion, where it is loaded, completes another command at a place in the line; without it bash itself
/// completes the name of the command, and files after it.
const BASH: &str = r#"
_needless_line() {
    local cur="$2" prev="$3" of="" at start=0 offset
    if [[ "${prev}" == "=" ]]; then
        prev="${COMP_WORDS[COMP_CWORD-2]}"
    fi

    # Where the command begins that needless runs.
    for (( at = 1; at < COMP_CWORD; at++ )); do
        case "${of},${COMP_WORDS[at]}" in
            WITH_VALUE)
                if [[ "${COMP_WORDS[at+1]}" == "=" ]]; then
                    (( at++ ))
                fi
                (( at++ ))
                ;;
            DASHES)
                (( start = at + 1 ))
                break
                ;;
            *,[=:])
                (( at++ ))
                ;;
            *,-*)
                ;;
            ,*)
                of="${COMP_WORDS[at]}"
                ;;
            FREE_WORD)
                start="${at}"
                break
                ;;
        esac
    done
    # An empty word may become an option.
    if (( at == COMP_CWORD )) && [[ -n "${cur}" && "${cur}" != -* ]]; then
        case "${of},${cur}" in
            FREE_WORD)
                start="${at}"
                ;;
        esac
    fi
    if (( start > 0 )); then
        # Two directories of PATH may have the same names.
        compopt +o nosort 2>/dev/null
        for offset in _comp_command_offset _command_offset; do
            if declare -F "${offset}" >/dev/null; then
                "${offset}" "${start}"
                return
            fi
        done
        COMPREPLY=()
        if (( start == COMP_CWORD )); then
            COMPREPLY=( $(compgen -c -- "${cur}") )
        fi
        return
    fi

    case "${prev}" in
        USERS)
            COMPREPLY=( $(compgen -u -- "${cur}") )
            ;;
        COMMANDS)
            COMPREPLY=( $(compgen -c -- "${cur}") )
            ;;
        *)
            _needless "$1" "${cur}" "${prev}"
            ;;
    esac
}

if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -F _needless_line -o nosort -o bashdefault -o default needless
else
    complete -F _needless_line -o bashdefault -o default needless
fi
"#;

/// What clap_complete does not do for zsh: after `--`, a command is completed also where other arguments may be before
/// it.
fn zsh_commands(script: Vec<u8>, command: &Command) -> Vec<u8> {
    const START: &str = "\n_needless() {\n";
    let all = Runs::of(command).all.join("|");
    let commands = format!(
        "    # After --, the words are those of the command that needless runs.\n    \
         local dashes=${{words[(i)--]}}\n    \
         if (( dashes < CURRENT && ${{words[1,dashes][(I)({all})]}} )); then\n        \
         shift $dashes words\n        \
         (( CURRENT -= dashes ))\n        \
         _normal\n        \
         return\n    \
         fi\n"
    );
    let script = String::from_utf8_lossy(&script);
    script.replacen(START, &format!("{START}{commands}"), 1).into_bytes()
}

/// What clap_complete leaves out for fish: values of arguments that are no options, commands that needless runs, and
/// values of options before the name of a command.
fn fish_rest(command: &Command) -> String {
    let mut lines = String::new();
    for option in command.get_opts() {
        let names = names(option);
        if let Some(long) = option.get_long()
            && !names.is_empty()
        {
            lines += &format!("complete -c needless -l {long} -r -f -a \"{names}\"\n");
        }
    }
    for one in command.get_subcommands() {
        let when = format!("__fish_needless_using_subcommand {}", one.get_name());
        let names: Vec<String> =
            one.get_positionals().map(names).filter(|names| !names.is_empty()).collect();
        let is_file =
            |arg: &Arg| matches!(arg.get_value_hint(), ValueHint::FilePath | ValueHint::DirPath);
        if !names.is_empty() {
            let names = names.join(" ");
            lines += &format!("complete -c needless -n \"{when}\" -f -a \"{names}\"\n");
        } else if !one.get_positionals().any(is_file) {
            lines += &format!("complete -c needless -n \"{when}\" -f\n");
        }
    }
    let runs = Runs::of(command);
    lines
        + &FISH
            .replace("FREE_COMMANDS", &runs.free.join(" "))
            .replace("ALL_COMMANDS", &runs.all.join(" "))
            .replace("WITH_VALUE", &runs.with_value.join(" "))
}

/// The possible values, as one text.
fn names(arg: &Arg) -> String {
    let values = arg.get_possible_values();
    values.iter().map(PossibleValue::get_name).collect::<Vec<_>>().join(" ")
}

/// The second function is clap_complete's, and asks also whether the word belongs to another command by now.
const FISH: &str = r#"
# Print at which word of the line the command begins that needless runs.
function __fish_needless_start
    set -l words (commandline -opc) (commandline -ct)
    set -l of ""
    set -l at 2
    while test $at -le (count $words)
        set -l word $words[$at]
        if test "$word" = --
            if contains -- "$of" ALL_COMMANDS; and test $at -lt (count $words)
                math $at + 1
                return 0
            end
            return 1
        else if contains -- $word WITH_VALUE
            set at (math $at + 1)
        else if string match -q -- '-*' $word
        else if test -z "$of"
            set of $word
        else if contains -- $of FREE_COMMANDS
            echo $at
            return 0
        end
        set at (math $at + 1)
    end
    return 1
end

function __fish_needless_using_subcommand
    set -l cmd (__fish_needless_needs_command)
    test -z "$cmd"
    and return 1
    __fish_needless_start >/dev/null
    and return 1
    contains -- $cmd[1] $argv
end

function __fish_needless_run
    set -l words (string escape -- (commandline -opc)) (commandline -ct)
    set -l start (__fish_needless_start)
    complete -C "$words[$start..-1]"
end

complete -c needless -n "__fish_needless_start >/dev/null" -f -a "(__fish_needless_run)"
"#;

#[cfg(test)]
mod tests;
