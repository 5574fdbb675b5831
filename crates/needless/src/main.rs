//! needless.
fn main() {}
