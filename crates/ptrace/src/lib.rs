//! Runs a command under ptrace, without privilege, and fills a profile.
