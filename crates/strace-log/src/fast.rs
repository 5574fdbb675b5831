//! What makes reading fast and could be left out: calls are remembered by the bytes of their lines, and
//! ends of lines by their last bytes. `reader::again` uses both; it and [`Recent`](crate::prefix::Recent),
//! which remembers starts of lines, are for speed only, too.

pub(crate) mod cache;
pub(crate) mod tails;
