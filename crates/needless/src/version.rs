//! What is said of the build.

/// The version that reports name.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What `--version --verbose` prints after the name: the version, and what the program was built from and with
/// (build.rs). It holds no time, so that two builds of a commit are the same bytes.
pub(crate) fn verbose() -> String {
    let libbpf = needless_observe::LIBBPF;
    let ebpf = if libbpf.is_some() { "ebpf, " } else { "" };
    format!(
        "{VERSION}\n\
         commit:    {}\n\
         target:    {}\n\
         profile:   {}\n\
         compiler:  {}\n\
         backends:  {ebpf}ptrace, strace-log\n\
         libbpf:    {}",
        env!("BUILD_COMMIT"),
        env!("BUILD_TARGET"),
        env!("BUILD_PROFILE"),
        env!("BUILD_COMPILER"),
        libbpf.unwrap_or("none: built without eBPF"),
    )
}
