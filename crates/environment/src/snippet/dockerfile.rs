//! The `ENV` line for an image.

use super::{SnippetFormat, SnippetQuery};
use crate::error::EnvironmentError;
use crate::place_list;
use crate::places::dockerfile::{escape, instruction};

/// A line of a Dockerfile.
pub(super) static DOCKERFILE: SnippetFormat =
    SnippetFormat { name: "dockerfile", between: "", of_image: true, write };

fn write(query: &SnippetQuery<'_>) -> Result<String, EnvironmentError> {
    let change = query.change;
    crate::places::check(&change.variable, change.value.as_deref())?;
    let Some(value) = &change.value else {
        return Err(
            "a Dockerfile cannot remove what its base image sets: remove its own ENV there".into(),
        );
    };
    // The escape character is the file's own.
    let text = match &change.location.file {
        Some(file) if change.location.place == &place_list::DOCKERFILE => {
            let bytes =
                query.disk.bytes(file, false).map_err(|error| format!("{file}: {error}"))?;
            String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
        }
        Some(file) => return Err(format!("{file} is not a Dockerfile").into()),
        None => String::new(),
    };
    let line = instruction(&change.variable, value, escape(&text));
    let stage = change
        .location
        .part
        .as_ref()
        .map_or("last stage".to_owned(), |part| format!("stage {part}"));
    let mut out = format!("# {}: in the {stage}, below its FROM\n", query.headline());
    let zone = value.trim_start_matches(':');
    if change.variable == "TZ" && !matches!(zone, "" | "UTC") {
        out += "# The image must have the zone's file (tzdata), or the time is silently UTC.\n";
    }
    Ok(out + &line + "\n")
}
