//! The variables that may be read from the environments of processes.

use std::sync::Arc;

/// Names of variables: no other variable is kept of an environment. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct WatchList(Arc<[Box<str>]>);

impl WatchList {
    /// The names.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|name| &**name)
    }

    /// The name on the list that has these bytes.
    pub fn find(&self, name: &[u8]) -> Option<&str> {
        self.iter().find(|known| known.as_bytes() == name)
    }
}

impl<'a> FromIterator<&'a str> for WatchList {
    fn from_iter<I: IntoIterator<Item = &'a str>>(names: I) -> WatchList {
        WatchList(names.into_iter().map(Box::from).collect())
    }
}

impl<const N: usize> From<[&str; N]> for WatchList {
    fn from(names: [&str; N]) -> WatchList {
        names.into_iter().collect()
    }
}
