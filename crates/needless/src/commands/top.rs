//! `top`: what running processes do needlessly, live.

mod details;
mod draw;
mod keys;
mod lines;
mod rows;
mod sample;
mod screen;
mod state;
#[cfg(test)]
mod tests;

use super::{explain, fix};
use crate::cli::TopArgs;
use crate::context::Context;
use crate::exit;
use crate::output::{self, Output};
use anyhow::{Context as _, Result};
use keys::keys;
use needless_model::Exit;
use needless_observe::{Asked, ObserveOptions, Rights, Who, Windows};
use needless_report::escape;
use rustix::process::{Signal, getpid, kill_current_process_group, kill_process};
use rustix::time::{ClockId, clock_gettime};
use sample::Sample;
use screen::Screen;
use state::{Deed, State};
use std::io::Write;
use std::os::fd::AsFd;

pub(crate) fn top(args: &TopArgs, context: &Context) -> Result<Exit> {
    Screen::check()?;
    let who = match (&args.unit, &args.container) {
        (Some(unit), _) => Who::Unit(unit.clone()),
        (_, Some(container)) => Who::Container(container.clone()),
        _ if args.pids.is_empty() => Who::Everyone,
        _ => Who::Processes(args.pids.clone()),
    };
    let options = ObserveOptions {
        watch: context.settings.watched.clone(),
        rights: Rights::for_report(context.user.is_other(), false),
        above: Some(needless_environment::look_above),
        ..ObserveOptions::default()
    };
    let colour = Output::stdout(context).is_coloured();
    let mut windows = Windows::start(&who, args.interval, options)?;
    let mut state = State::new(who, args.interval.as_secs_f64(), args.group);
    let mut screen = Screen::open()?;
    let shown = live(&mut windows, &mut state, &mut screen, context, colour);
    drop(screen);
    drop(windows);
    shown?;
    leave_note(&state)?;
    Ok(exit::DONE)
}

/// Until somebody quits.
fn live(
    windows: &mut Windows,
    state: &mut State,
    screen: &mut Screen,
    context: &Context,
    colour: bool,
) -> Result<()> {
    let input = std::io::stdin();
    let mut changed = true;
    let mut own_before = own_cpu_ns();
    loop {
        if changed || screen.was_resized() {
            screen.draw(|buffer| {
                state.page = draw::page(buffer.area);
                draw::draw(state, buffer, colour);
            })?;
        }
        changed = false;
        match windows.wait(&[input.as_fd()])? {
            Some(Asked::End | Asked::HangUp) => return Ok(()),
            // Before the next read(2), which would wait for a whole line while the terminal is the shell's.
            Some(Asked::Stop) => {
                screen.leave();
                // The shell takes the terminal; it sends SIGCONT, after which this goes on.
                kill_process(getpid(), Signal::STOP).context("cannot stop")?;
                screen.enter()?;
                changed = true;
                continue;
            }
            Some(Asked::Resumed) => {
                screen.enter()?;
                changed = true;
                continue;
            }
            None => {}
        }
        let mut bytes = [0; 256];
        // Nothing is there, most of the time. An error means that the terminal is gone.
        let Ok(n) = rustix::io::read(&input, &mut bytes) else { return Ok(()) };
        for key in keys(&bytes[..n]) {
            changed = true;
            match state.press(key) {
                Deed::Quit => return Ok(()),
                // To all that the shell started with it, sudo for one; it comes back as `Asked::Stop`.
                Deed::Stop => kill_current_process_group(Signal::TSTP).context("cannot stop")?,
                Deed::Redraw => screen.enter()?,
                deed => look_up(deed, state, context),
            }
        }
        if let Some(profile) = windows.take()? {
            let options = sample::options(context);
            let (mut verdict, accounts) = needless_rules::check_with_accounts(&profile, &options);
            context.settings.suppress(&mut verdict, &profile, &options);
            let own = own_cpu_ns();
            state.take(Sample::of(&profile, (&verdict, accounts), own - own_before));
            own_before = own;
            state.over = windows.is_over();
            changed = true;
        }
    }
}

/// What a key asks for and the windows do not say.
fn look_up(deed: Deed, state: &mut State, context: &Context) {
    match deed {
        Deed::Explain(rule) => {
            let page = explain::page(&rule, context).unwrap_or_default();
            let lines = page.lines().map(|line| (0, line.to_owned())).collect();
            state.show(&rule, lines);
        }
        Deed::Diff { change, pid, unit } => {
            let diff = fix::preview(&change, pid, unit.as_deref(), context);
            let text = diff.unwrap_or_else(|why| format!("no diff: {why:#}"));
            // Tabs have a width that only a terminal knows.
            let lines = text.lines().map(|line| (0, line.replace('\t', "    "))).collect();
            state.show("the fix, which is not written here", lines);
        }
        Deed::Nothing | Deed::Quit | Deed::Stop | Deed::Redraw => {}
    }
}

/// CPU time that this process has used, nanoseconds.
fn own_cpu_ns() -> u64 {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    used.tv_sec as u64 * 1_000_000_000 + used.tv_nsec as u64
}

/// The commands that the keys stand for, for the next time.
fn leave_note(state: &State) -> Result<()> {
    if state.commands.is_empty() {
        return Ok(());
    }
    let mut out = output::stdout_lines()?;
    writeln!(out, "The same on the command line:")?;
    state.commands.iter().try_for_each(|command| writeln!(out, "  {}", escape(command)))?;
    Ok(())
}
