//! The C library of a process, and the file names by which it is recognised. To add a libc, add a variant here and its
//! names below; what a rule says about it is in that rule.

/// The C library of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Libc {
    /// Not known.
    #[default]
    Unknown,
    /// GNU libc, with its version ("2.36") where it could be read.
    Glibc(Option<String>),
    /// musl.
    Musl,
    /// No dynamic linker: static glibc, static musl, Go or other; which one is not known.
    Static,
}

impl Libc {
    /// The C library whose library file is `path`, as a dynamic linker opens it. [`Libc::Unknown`] for any other file.
    pub fn of_library(path: &[u8]) -> Libc {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        if matches!(name, b"libc.so.6" | b"libc.so.6.1" | b"libc.so.0.3") {
            return Libc::Glibc(None);
        }
        if name.starts_with(b"ld-musl-") || name.starts_with(b"libc.musl-") {
            return Libc::Musl;
        }
        match name.strip_prefix(b"libc-2.").and_then(|rest| rest.strip_suffix(b".so")) {
            Some(version) => Libc::Glibc(Some(format!("2.{}", String::from_utf8_lossy(version)))),
            None => Libc::Unknown,
        }
    }

    /// The C library whose dynamic linker is `path`: what a program names as its interpreter (`PT_INTERP`), or what a
    /// linker calls itself (`DT_SONAME`).
    pub fn of_linker(path: &str) -> Libc {
        let name = path.rsplit('/').next().unwrap_or(path);
        if name.starts_with("ld-musl") || name.starts_with("libc.musl") {
            return Libc::Musl;
        }
        // ld-linux-x86-64.so.2, ld-2.19.so, ld64.so.2 (powerpc64), ld.so.1 (sparc64, s390).
        let glibc = ["ld-linux", "ld-2.", "ld64.so", "ld.so"];
        if glibc.iter().any(|start| name.starts_with(start)) {
            Libc::Glibc(None)
        } else {
            Libc::Unknown
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linkers_name_their_library() {
        assert_eq!(Libc::of_linker("/lib64/ld-linux-x86-64.so.2"), Libc::Glibc(None));
        assert_eq!(Libc::of_linker("/lib/ld-musl-aarch64.so.1"), Libc::Musl);
        assert_eq!(Libc::of_linker("libc.musl-x86_64.so.1"), Libc::Musl);
        assert_eq!(Libc::of_linker("/system/bin/linker64"), Libc::Unknown);
        assert_eq!(Libc::of_linker("/lib/ld-uClibc.so.0"), Libc::Unknown);
    }

    #[test]
    fn libraries_by_their_names() {
        assert_eq!(Libc::of_library(b"/lib/x86_64-linux-gnu/libc.so.6"), Libc::Glibc(None));
        assert_eq!(Libc::of_library(b"/lib/libc-2.31.so"), Libc::Glibc(Some("2.31".into())));
        assert_eq!(Libc::of_library(b"/lib/ld-musl-x86_64.so.1"), Libc::Musl);
        assert_eq!(Libc::of_library(b"/etc/ld.so.cache"), Libc::Unknown);
    }
}
