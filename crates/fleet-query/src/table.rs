//! The files as one table of the engine.

use crate::files::{self, WindowFile};
use async_trait::async_trait;
use bytes::Bytes;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::Session;
use datafusion::config::TableParquetOptions;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{
    FileScanConfigBuilder, ParquetFileReaderFactory, ParquetSource,
};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::{TableProvider, TableType};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use parquet::arrow::arrow_reader::ArrowReaderOptions;
use parquet::arrow::async_reader::AsyncFileReader;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};
use parquet::file::reader::ChunkReader;
use std::fs::File;
use std::future::ready;
use std::ops::Range;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

/// Exactly these files: the engine's own table of a directory would read those, too, that are left out.
#[derive(Debug)]
pub(crate) struct Windows {
    schema: SchemaRef,
    files: Vec<PartitionedFile>,
    paths: Arc<Paths>,
}

impl Windows {
    /// A table of files.
    pub(crate) fn new(schema: SchemaRef, files: &[WindowFile]) -> Windows {
        let paths = files.iter().map(|file| file.path.clone()).collect();
        let files = files.iter().enumerate().map(|(n, file)| {
            let mut entry = PartitionedFile::new("", file.bytes);
            entry.object_meta.location = n.to_string().into();
            entry
        });
        Windows { schema, files: files.collect(), paths: Arc::new(Paths(paths)) }
    }
}

/// Opens files for the engine, which knows them by their number here. By path it would take no name that is no text, and
/// wait where a pipe has taken the place of a file.
#[derive(Debug)]
struct Paths(Vec<PathBuf>);

impl ParquetFileReaderFactory for Paths {
    fn create_reader(
        &self,
        _: usize,
        file: PartitionedFile,
        _: Option<usize>,
        _: &ExecutionPlanMetricsSet,
    ) -> Result<Box<dyn AsyncFileReader + Send>> {
        let number = file.object_meta.location.as_ref().parse::<usize>().ok();
        let path = number.and_then(|number| self.0.get(number));
        let path = path.ok_or_else(|| DataFusionError::Internal("no such file".to_owned()))?;
        Ok(Box::new(Opened(files::open(path)?)))
    }
}

struct Opened(File);

/// What is there at once.
type Ready<'a, T> = Pin<Box<dyn Future<Output = parquet::errors::Result<T>> + Send + 'a>>;

impl AsyncFileReader for Opened {
    fn get_bytes(&mut self, range: Range<u64>) -> Ready<'_, Bytes> {
        let length = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
        Box::pin(ready(ChunkReader::get_bytes(&self.0, range.start, length)))
    }

    fn get_metadata<'a>(
        &'a mut self,
        options: Option<&'a ArrowReaderOptions>,
    ) -> Ready<'a, Arc<ParquetMetaData>> {
        let reader = ParquetMetaDataReader::new().with_arrow_reader_options(options);
        Box::pin(ready(reader.parse_and_finish(&self.0).map(Arc::new)))
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
        let source = ParquetSource::new(self.schema.clone())
            .with_table_parquet_options(options)
            .with_parquet_file_reader_factory(self.paths.clone());
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
