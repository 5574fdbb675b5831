//! `explain`: the rules, built-in ones and those of needless.toml.

use crate::cli::ExplainArgs;
use crate::context::Context;
use crate::exit;
use crate::output::Output;
use anyhow::{Context as _, Result};
use needless_config::FailedExample;
use needless_model::Exit;
use needless_report::escape;
use std::io::Write;

fn built_in(rule: &needless_rules::Rule) -> String {
    needless_rules::page(rule).markdown()
}

/// The page of a rule, built-in or declared.
pub(super) fn page(name: &str, context: &Context) -> Option<String> {
    let declared = || context.settings.rule(name).map(|rule| rule.page());
    needless_rules::by_name(name).map(built_in).or_else(declared)
}

/// Runs the examples of declared rules.
fn test(context: &Context) -> Result<Exit> {
    let config = &context.settings.config;
    let (examples, failures) = needless_config::test(config);
    let rules = config.rules.len();
    Output::stdout(context).emit(|out, _| {
        for FailedExample { place, rule, why } in &failures {
            writeln!(out, "{}: {rule}: {}", escape(place), escape(why))?;
        }
        writeln!(out, "{rules} rules, {examples} examples, {} failed", failures.len())
    })?;
    Ok(exit::answer(failures.is_empty()))
}

pub(crate) fn explain(args: &ExplainArgs, context: &Context) -> Result<Exit> {
    if args.test {
        return test(context);
    }
    let declared = &context.settings.rules;
    let pages: Vec<String> = match &args.rule {
        Some(name) => vec![page(name, context).context("no such rule")?],
        None if args.all => {
            let declared = declared.iter().map(|rule| rule.page());
            needless_rules::RULES.iter().map(|rule| built_in(rule)).chain(declared).collect()
        }
        None => {
            Output::stdout(context).emit(|out, style| {
                needless_report::write_rules(out, declared, args.format, style)
            })?;
            return Ok(exit::DONE);
        }
    };
    Output::stdout(context).emit(|out, style| {
        for (at, page) in pages.iter().enumerate() {
            if at > 0 {
                out.push(b'\n');
            }
            needless_report::explain(out, page, style)?;
        }
        Ok(())
    })?;
    Ok(exit::DONE)
}
