//! What an agent leaves behind for whoever looks at many hosts: each window as a Parquet file in a directory that stays
//! small ([`Ring`]), and a few numbers for Prometheus and other collectors ([`Metrics`]).
//!
//! Nothing here has a path, a process id, an argument or the value of a variable.

mod exposition;
mod file;
mod metrics;
mod ring;
mod rows;
mod ship;

pub use exposition::Exposition;
pub use file::{AgentWindow, FILE_SCHEMA, HASH_OF_MACHINE_ID, is_window, parquet, schema};
pub use metrics::{Metrics, Own, SERIES};
pub use ring::{Keep, Ring, RingError};
pub use rows::{Dimensions, Fate, MOST_ROWS, Measures, Rows};
pub use ship::{Shipped, ship};
