//! `show`: writes again what a command wrote as JSON.

use crate::cli::ShowArgs;
use crate::context::Context;
use crate::output::{Output, Stream, emit_all};
use crate::{exit, report};
use anyhow::{Context as _, Result, anyhow, bail};
use needless_model::Exit;
use needless_report::{
    CheckFormat, Details, Document, DocumentFormat, OriginFormat, ProofFormat, Report,
    ReportDocument, ReportFormat, Timeline, TimelineFormat, read_document,
};
use std::path::Path;

pub(crate) fn show(args: &ShowArgs, context: &Context) -> Result<Exit> {
    let [file] = &args.files[..] else { return timeline(args, context) };
    match read(file, context)? {
        Document::Report(document) => of_report(&document, args, context)?,
        Document::Profile(snapshot, version) => {
            let (outputs, format) = open(args, context)?;
            emit_all(outputs, format, |out, format, style| {
                needless_report::write_profile(out, &snapshot, &version, format, style)
            })?;
        }
        Document::Proof(proof) => {
            let (outputs, format) = open::<ProofFormat>(args, context)?;
            emit_all(outputs, format, |out, format, style| {
                needless_report::write_proof(out, &proof, format, style)
            })?;
        }
        Document::Diff(difference) => {
            let (outputs, format) = open::<ProofFormat>(args, context)?;
            emit_all(outputs, format, |out, format, style| {
                needless_report::write_diff(out, &difference, format, style)
            })?;
        }
        Document::Check(check) => {
            let (outputs, format) = open::<CheckFormat>(args, context)?;
            emit_all(outputs, format, |out, format, style| {
                needless_report::write_check(out, &check, format, style)
            })?;
        }
        Document::Origin(origin) => {
            let (outputs, format) = open::<OriginFormat>(args, context)?;
            emit_all(outputs, format, |out, format, style| {
                // As `origin` without and with --all.
                let brief = format == OriginFormat::Full && !args.full();
                let format = if brief { OriginFormat::Concise } else { format };
                needless_report::write_origin(out, &origin, format, style)
            })?;
        }
    }
    Ok(exit::DONE)
}

fn read(file: &Path, context: &Context) -> Result<Document> {
    let (text, name) = if file == Path::new("-") {
        let text = std::io::read_to_string(std::io::stdin());
        (text.context("cannot read standard input")?, "standard input".into())
    } else {
        (context.user.text_of(file)?, file.display().to_string())
    };
    read_document(&text).map_err(|why| anyhow!("{name}: {why}"))
}

/// Several windows, one after the other.
fn timeline(args: &ShowArgs, context: &Context) -> Result<Exit> {
    let mut reports = Vec::new();
    for file in &args.files {
        let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
        let Document::Report(report) = read(file, context)? else {
            bail!(
                "{}: not a report: several files are shown only of attach and host",
                file.display()
            )
        };
        reports.push((name, *report));
    }
    let timeline = Timeline::of(&reports).map_err(|why| anyhow!(why))?;
    let (outputs, format) = open::<TimelineFormat>(args, context)?;
    emit_all(outputs, format, |out, format, style| {
        needless_report::write_timeline(out, &timeline, format, style)
    })?;
    Ok(exit::DONE)
}

/// The outputs, and the format that the options name.
fn open<'a, F: DocumentFormat>(
    args: &ShowArgs,
    context: &'a Context,
) -> Result<(Vec<Output<'a>>, Option<F>)> {
    let format = format(args)?;
    Ok((Output::all(context, &args.output, format, Stream::Stdout)?, format))
}

fn format<F: DocumentFormat>(args: &ShowArgs) -> Result<Option<F>> {
    let format = args.format().map(str::parse::<F>).transpose();
    format.map_err(|why| anyhow!("--format: {why}"))
}

/// On a terminal the overview comes last, as when it was run there; the words of the command are not in the file, so
/// that the line `try:` has the program alone.
fn of_report(document: &ReportDocument, args: &ShowArgs, context: &Context) -> Result<()> {
    let format: Option<ReportFormat> = format(args)?;
    let outputs = Output::of_report(context, &args.output, format, Stream::Stdout)?;
    let details =
        Details { full: args.full(), unexplained: args.unexplained(), ..Details::default() };
    let report = Report { document, rows: None, top: args.top, details, command: &[] };
    report::emit(&report, outputs, format)
}
