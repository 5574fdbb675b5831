//! The files as one table of the engine.

use crate::files::WindowFile;
use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::Session;
use datafusion::config::TableParquetOptions;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileScanConfigBuilder, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::{TableProvider, TableType};
use datafusion::error::Result;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::Expr;
use datafusion::object_store::path::Path as StorePath;
use datafusion::physical_plan::ExecutionPlan;
use std::sync::Arc;

/// Exactly these files: the engine's own table of a directory would read those, too, that are left out.
#[derive(Debug)]
pub(crate) struct Windows {
    schema: SchemaRef,
    files: Vec<PartitionedFile>,
}

impl Windows {
    /// A table of files.
    ///
    /// # Errors
    /// When a path cannot be said to the engine: it is not UTF-8.
    pub(crate) fn new(schema: SchemaRef, files: &[WindowFile]) -> Result<Windows> {
        let files = files.iter().map(|file| {
            let mut entry = PartitionedFile::new("", file.bytes);
            entry.object_meta.location = StorePath::from_absolute_path(&file.path)?;
            Ok(entry)
        });
        Ok(Windows { schema, files: files.collect::<Result<_>>()? })
    }
}

#[async_trait]
impl TableProvider for Windows {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    /// What the question leaves out is pushed down to the files by the engine's optimiser, after this.
    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        // An index of pages and a bloom filter say once more where what is, and were not looked at.
        let mut options = TableParquetOptions::default();
        (options.global.enable_page_index, options.global.bloom_filter_on_read) = (false, false);
        let source = ParquetSource::new(self.schema.clone()).with_table_parquet_options(options);
        let mut config =
            FileScanConfigBuilder::new(ObjectStoreUrl::local_filesystem(), Arc::new(source))
                .with_projection_indices(projection.cloned())?
                .with_limit(limit);
        // Neighbours by name are neighbours in time: dealt out one by one, each thread has as much to do.
        let threads = state.config().target_partitions().clamp(1, self.files.len().max(1));
        for first in 0..threads {
            let of_one: Vec<_> = self.files.iter().skip(first).step_by(threads).cloned().collect();
            config = config.with_file_group(of_one.into());
        }
        Ok(DataSourceExec::from_data_source(config.build()))
    }
}
