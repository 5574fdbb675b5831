//! strace text to a profile, streaming.
