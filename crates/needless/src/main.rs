//! needless: finds the system calls a program makes but does not need. Parses the command line and dispatches.

mod advice;
mod caller;
mod cli;
mod commands;
mod context;
mod exit;
mod output;
mod places;
mod policy;
mod progress;
mod report;
mod settings;
mod version;

use cli::{Action, Cli};
use context::Context;
use needless_model::Exit;
use version::VERSION;

fn main() {
    std::panic::set_hook(Box::new(|panic| {
        let panic = panic.to_string().replace('\n', " ");
        output::warn(format_args!("internal error, please report it: {panic}"));
    }));
    needless_observe::note_inherited();
    needless_observe::survive_file_size_limit();
    let cli = Cli::read();
    let status = exit::ErrorStatus::of(&cli.action);
    let exit = Context::of(&cli).and_then(|context| dispatch(&cli, &context));
    needless_observe::exit_like(exit.unwrap_or_else(|error| status.end(&error)))
}

fn dispatch(cli: &Cli, context: &Context) -> anyhow::Result<Exit> {
    match &cli.action {
        Action::Run(args) if args.prove => commands::prove::run_and_prove(args, context),
        Action::Run(args) => commands::run(args, context),
        Action::Attach(args) => commands::attach(args, context),
        Action::Host(args) => commands::host(args, context),
        Action::Top(args) => commands::top(args, context),
        Action::Agent(args) => commands::agent(args, cli, context),
        Action::Ship(args) => commands::ship(args),
        Action::Read(args) => commands::read(args, context),
        Action::Show(args) => commands::show(args, context),
        Action::Preload(args) => commands::preload(args, context),
        Action::Origin(args) => commands::origin(args, context),
        Action::Fix(args) => commands::fix(args, context),
        Action::Undo(args) => commands::undo(args),
        Action::Prove(args) => commands::prove(args, context),
        Action::Check(args) => commands::check(args, context),
        Action::Diff(args) => commands::diff(args, context),
        Action::Explain(args) => commands::explain(args, context),
        Action::Doctor => commands::doctor(context),
        Action::Completions(args) => commands::completions(args, context),
        Action::Man(args) => commands::manual(args, context),
    }
}
