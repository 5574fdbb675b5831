//! Chooses a backend, launches, looks up the host facts and call sites.
