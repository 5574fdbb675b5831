//! Lists of directories in which programs search for files: one mechanism behind many rules.
//!
//! A rule names a variable and who searches it ([`Search`]), and is data otherwise: [`check`] does the rest, and [`check_any`]
//! does it for variables that no rule names. The other types here say what a [`Search`] consists of.
//!
//! `search.rs` is what is declared, `searched.rs` finds which directories hold nothing and `again.rs` which calls go with them,
//! `advice.rs` writes it down. For any variable, `any.rs` with `entries.rs`, `variable.rs` and `finding.rs` do the same;
//! `load_path.rs` knows lists that no variable shows. `shorter.rs` makes a remedy of a report anew.

mod advice;
mod again;
mod any;
mod dirs;
mod entries;
mod finding;
mod load_path;
mod search;
mod searched;
mod shorter;
mod variable;

pub(crate) use again::DuplicateEntry;
pub(crate) use any::check_any;
pub(crate) use search::{CURRENT, Infer, Next, Search, Searcher, check};
pub(crate) use searched::SearchedList;
pub(crate) use shorter::{Now, fewer_entries, shorter};
