//! The columns, as the agent's own writer makes them.

use crate::Fault;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use needless_fleet::{AgentWindow, FILE_SCHEMA};
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use parquet::errors::{ParquetError, Result};
use std::sync::Arc;

/// The versions of the columns that are read. Within one, columns are only added; what a file lacks is null.
pub(crate) const READ: [&str; 1] = ["needless.rows/1"];

/// What a file of windows looks like.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    /// The columns, in the engine's types. Each may be null: an older file may lack it.
    pub(crate) schema: SchemaRef,
    /// The key in the footer whose value is the version of the columns.
    pub(crate) key: String,
}

impl Columns {
    /// Asks the writer: a file without rows has them all.
    ///
    /// # Errors
    /// When the writer and the reader do not agree about Parquet.
    pub(crate) fn of_the_writer() -> std::result::Result<Columns, Fault> {
        Columns::asked()
            .map_err(|error| Fault::new("columns", error, "report this as a bug of needless-fleet"))
    }

    fn asked() -> Result<Columns> {
        let bytes = needless_fleet::parquet(&AgentWindow::default(), &[])?;
        let footer = ArrowReaderMetadata::load(&bytes::Bytes::from(bytes), Default::default())?;
        let facts = footer.metadata().file_metadata().key_value_metadata();
        let version = facts
            .into_iter()
            .flatten()
            .find(|fact| fact.value.as_deref() == Some(FILE_SCHEMA))
            .ok_or_else(|| ParquetError::General("the writer names no version".to_owned()))?;
        let fields = footer.schema().fields().iter().map(|field| {
            // Views of a text are what the engine groups fastest.
            let of = match field.data_type() {
                DataType::Utf8 => DataType::Utf8View,
                other => other.clone(),
            };
            Field::new(field.name(), of, true)
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Ok(Columns { schema, key: version.key.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_agent_writes_is_read() {
        let columns = Columns::of_the_writer().unwrap();
        assert!(READ.contains(&FILE_SCHEMA));
        assert_eq!(columns.key, "needless.schema");
        assert!(columns.schema.fields().len() >= 19);
    }
}
