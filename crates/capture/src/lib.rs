//! Chooses a backend, launches, looks up the host facts and call sites.

mod costs;
mod decode;
mod doctor;
mod enrich;
mod image;
mod locale;
mod module;
mod root;
mod run;
mod sites;
mod tzif;
mod unwind;
mod zone;

pub use costs::calibrate;
pub use doctor::{Check, State, doctor};
pub use enrich::enrich;
pub use image::{fill, inspect};
pub use locale::probe;
pub use root::{Root, Roots};
pub use run::{Captured, Failure, Options, run};
pub use sites::resolve;
pub use zone::look_up;
