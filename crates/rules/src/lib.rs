//! What is needless: one file per rule, pure functions from a profile to findings.
