//! The pages of rules: read from the heads of their files, with their examples and what was measured.

mod example;
pub(crate) mod measured;
pub(crate) mod page;

pub use example::{Block, compare, examples};
pub use measured::{MeasuredCase, measured};
pub use page::{Page, PageSection, SECTIONS, page};
