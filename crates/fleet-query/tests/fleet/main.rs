//! The program asked about fleets that do not exist. One binary: each of them links the engine.

mod answers;
mod common;
mod compact;
mod files;
mod fix;
mod hostile;
