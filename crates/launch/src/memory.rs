//! Memory of this process that it no longer uses.

/// Returns free memory to the kernel, also what lies between blocks in use: malloc_trim(3). The C library returns by
/// itself only what lies above all of them, so that a program which needs much memory for a moment, again and again,
/// would keep most of it.
pub fn return_free_memory() {
    // SAFETY: it may be called at any time; it changes no block that is in use.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}
