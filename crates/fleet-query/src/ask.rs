//! A question, answered over the files that can be read.
//!
//! A broken file costs its own rows, never the answer. The end of each file is looked at before a question. Where a
//! page in the middle turns out to be broken, the question is asked of halves of the files, of halves of these, and so
//! on; the files that fail alone are left out as a whole, and it is asked again: an answer is never made of half a
//! file.

use crate::columns::Columns;
use crate::files::{self, Found, WindowFile};
use crate::reader::Reader;
use crate::table::Windows;
use crate::{Fault, name_skipped};
use datafusion::arrow::array::{RecordBatch, TimestampMicrosecondArray};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;
use datafusion::datasource::MemTable;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{Expr, Like, col, lit};
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::{SQLOptions, SessionConfig, SessionContext};
use datafusion::scalar::ScalarValue;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What is asked.
#[derive(Debug)]
pub(crate) struct Ask<'a> {
    /// One statement, over `needless_rows` and `needless_since`.
    pub(crate) sql: &'a str,
    /// A column and the value that it must have.
    pub(crate) only: Option<(&'a str, &'a str)>,
    /// Labels `KEY=VALUE` that the host must have.
    pub(crate) labels: &'a [String],
    /// Windows that began before, in microseconds since 1970, are left out.
    pub(crate) from_us: Option<i64>,
    /// The time in `needless_since`.
    pub(crate) since_us: i64,
    /// Directories and files.
    pub(crate) places: &'a [PathBuf],
}

/// Rows, and which files they are of.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) schema: SchemaRef,
    pub(crate) rows: Vec<RecordBatch>,
    pub(crate) found: Found,
}

/// Asks. A file that turns out to be broken while it is read is left out as a whole, and the question asked again.
///
/// # Errors
/// When there is no file to read, and when the engine refuses the question.
pub(crate) async fn ask(ask: &Ask<'_>, reader: &Reader) -> std::result::Result<Answer, Fault> {
    let columns = Columns::of_the_writer()?;
    let paths = files::list(ask.places)?;
    let total = paths.len();
    let mut found = files::look(paths, &columns, reader);
    let mut unexplained = 0;
    loop {
        if found.files.is_empty() {
            name_skipped(&found.skipped);
            return Err(Fault::new(
                "files",
                format!("none of {total} can be read"),
                "bring the files of the agents again",
            ));
        }
        let refused = |error: DataFusionError| {
            Fault::new(
                "question",
                plain(&error),
                "needless-fleet causes --print-sql shows one that works",
            )
        };
        let (plan, context) = plan(ask, &columns, &found.files).await.map_err(refused)?;
        match run(&plan, &context, &found.files, reader).await {
            Ok(rows) => return Ok(Answer { schema: plan.schema(), rows, found }),
            Err(error) if is_of_a_file(&error) => {
                let broken = broken(ask, &columns, &found.files, reader).await.map_err(refused)?;
                // Where somebody writes to the files meanwhile, each may be whole when it is looked at alone.
                unexplained += i32::from(broken.is_empty());
                if unexplained > 3 {
                    return Err(refused(error));
                }
                found.files.retain(|file| broken.iter().all(|(path, _)| *path != file.path));
                found.skipped.extend(broken);
            }
            Err(error) => return Err(refused(error)),
        }
    }
}

/// Whether it was a file that the engine could not read, as against a question that it could not answer.
fn is_of_a_file(error: &DataFusionError) -> bool {
    match error.find_root() {
        DataFusionError::ArrowError(error, _) => {
            matches!(**error, ArrowError::ParquetError(_) | ArrowError::ExternalError(_))
        }
        // The last two: a decoder that panics.
        DataFusionError::ParquetError(_)
        | DataFusionError::ObjectStore(_)
        | DataFusionError::IoError(_)
        | DataFusionError::ExecutionJoin(_)
        | DataFusionError::External(_) => true,
        _ => false,
    }
}

/// The files that cannot be read, each with the reason: by asking halves of them, halves of these, and so on.
async fn broken(
    ask: &Ask<'_>,
    columns: &Columns,
    files: &[WindowFile],
    reader: &Reader,
) -> Result<Vec<(PathBuf, String)>> {
    let mut broken = Vec::new();
    let mut left = vec![files];
    while let Some(some) = left.pop() {
        let (plan, context) = plan(ask, columns, some).await?;
        match run(&plan, &context, some, reader).await {
            Err(error) if !is_of_a_file(&error) => return Err(error),
            Err(error) if some.len() == 1 => {
                broken
                    .push((some[0].path.clone(), format!("cannot be decoded: {}", plain(&error))));
            }
            Err(_) => {
                let (one, other) = some.split_at(some.len() / 2);
                left.extend([other, one]);
            }
            Ok(_) => {}
        }
    }
    Ok(broken)
}

async fn plan(
    ask: &Ask<'_>,
    columns: &Columns,
    files: &[WindowFile],
) -> Result<(Arc<dyn ExecutionPlan>, SessionContext)> {
    let context = SessionContext::new_with_config(SessionConfig::new());
    let mut rows = context.read_table(Arc::new(Windows::new(columns.schema.clone(), files)))?;
    let time = |us| ScalarValue::TimestampMicrosecond(Some(us), Some("UTC".into()));
    if let Some(from) = ask.from_us {
        rows = rows.filter(col("window_start").gt_eq(lit(time(from))))?;
    }
    if let Some((column, value)) = ask.only {
        rows = rows.filter(col(column).eq(lit(value)))?;
    }
    for label in ask.labels {
        rows = rows.filter(has_label(label))?;
    }
    context.register_table("needless_rows", rows.into_view())?;
    let since = TimestampMicrosecondArray::from(vec![ask.since_us]).with_timezone("UTC");
    let since = RecordBatch::try_from_iter([("since", Arc::new(since) as _)])?;
    let table = MemTable::try_new(since.schema(), vec![vec![since]])?;
    context.register_table("needless_since", Arc::new(table))?;
    // A question changes nothing: no file is written, and no table made.
    let only_questions =
        SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
    let frame = context.sql_with_options(ask.sql, only_questions).await?;
    Ok((frame.create_physical_plan().await?, context))
}

/// `labels` is `KEY=VALUE`, with commas between them.
fn has_label(label: &str) -> Expr {
    let text: String = label
        .chars()
        .flat_map(|c| matches!(c, '%' | '_' | '\\').then_some('\\').into_iter().chain([c]))
        .collect();
    let like = |pattern: String| {
        let (of, pattern) = (Box::new(col("labels")), Box::new(lit(pattern)));
        Expr::Like(Like::new(false, of, pattern, Some('\\'), false))
    };
    let inside =
        like(format!("{text},%")).or(like(format!("%,{text},%"))).or(like(format!("%,{text}")));
    col("labels").eq(lit(label)).or(inside)
}

async fn run(
    plan: &Arc<dyn ExecutionPlan>,
    context: &SessionContext,
    files: &[WindowFile],
    reader: &Reader,
) -> Result<Vec<RecordBatch>> {
    reader.allow(files.iter().map(|file| file.bytes).sum());
    let total: u64 = files.iter().map(|file| file.rows).sum();
    // As a task, also where the engine makes none: a decoder that panics is an error of its file.
    let mut rows = tokio::spawn(collect(plan.clone(), context.task_ctx()));
    loop {
        match tokio::time::timeout(Duration::from_millis(200), &mut rows).await {
            Ok(done) => {
                return done.unwrap_or_else(|why| Err(DataFusionError::External(why.into())));
            }
            Err(_) => reader.say(|| {
                let million = |rows: u64| rows as f64 / 1e6;
                format!("read {:.1} of {:.1} million rows", million(read(plan)), million(total))
            }),
        }
    }
}

/// How many rows left the files so far.
fn read(plan: &Arc<dyn ExecutionPlan>) -> u64 {
    let below = plan.children();
    if below.is_empty() {
        return plan.metrics().and_then(|metrics| metrics.output_rows()).unwrap_or(0) as u64;
    }
    below.into_iter().map(read).sum()
}

/// An error in one line.
fn plain(error: &DataFusionError) -> String {
    let text = error.strip_backtrace();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
