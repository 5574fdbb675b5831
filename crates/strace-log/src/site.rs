//! The stack lines of `-k`: where in the program a call comes from.

use crate::text::{decimal, number};
use memchr::{memchr, memmem, memrchr};
use needless_model::CallSite;

/// Beyond this offset, the nearest symbol is probably that of another function: strace knows
/// only exported symbols.
const NEAR: u64 = 0x1000;

/// The functions that ask for the status of a file: the names of glibc, also before 2.33, and of musl.
const STAT_FUNCTIONS: [&str; 13] = [
    "stat",
    "stat64",
    "lstat",
    "lstat64",
    "fstatat",
    "fstatat64",
    "statx",
    "__xstat",
    "__xstat64",
    "__lxstat",
    "__lxstat64",
    "__fxstatat",
    "__fxstatat64",
];

/// The frames between the kernel and the first frame of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Below {
    /// No frame of the C runtime so far.
    #[default]
    Nothing,
    /// One frame, of this function of the stat family: the program called it.
    Stat(&'static str),
    /// Something else: other functions of the C library make such calls themselves.
    Other,
}

impl Below {
    /// With one more frame of the C runtime.
    pub(crate) fn and(self, frame: &Frame<'_>) -> Below {
        match (self, frame.stat_function()) {
            (Below::Nothing, Some(name)) => Below::Stat(name),
            _ => Below::Other,
        }
    }

    /// The function that the program called, where that is known.
    pub(crate) fn called(self) -> Option<&'static str> {
        if let Below::Stat(name) = self { Some(name) } else { None }
    }
}

/// A line ` > /usr/bin/app(main+0x2f) [0x11c3]`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    module: &'a [u8],
    function: Option<(&'a [u8], u64)>,
    address: u64,
}

impl Frame<'_> {
    /// Reads a stack line; `None` for one without a module (`unexpected_backtracing_error`).
    pub(crate) fn parse(line: &[u8]) -> Option<Frame<'_>> {
        let s = line.strip_prefix(b" > ")?;
        let bracket = memmem::rfind(s, b" [0x")?;
        let address = number(&s[bracket + 2..])?;
        let mut open = memchr(b'(', &s[..bracket])?;
        if s[open..].starts_with(b"(deleted)") {
            open += 1 + memchr(b'(', &s[open + 1..bracket])?;
        }
        // The last one: C++ names contain parentheses, too.
        let close = open + memrchr(b')', &s[open..bracket])?;
        let inside = &s[open + 1..close];
        let function = memrchr(b'+', inside).and_then(|plus| {
            Some((&inside[..plus], number(&inside[plus + 1..])?))
                .filter(|(name, _)| !name.is_empty())
        });
        let module = &s[..open];
        (module.first() == Some(&b'/')).then_some(Frame { module, function, address })
    }

    /// Whether the frame is in a library of the C runtime, which is never the place of the call.
    pub(crate) fn in_runtime(&self) -> bool {
        let file = memrchr(b'/', self.module).map_or(self.module, |at| &self.module[at + 1..]);
        [&b"libc"[..], b"ld", b"libpthread", b"libm", b"ld-linux", b"librt", b"libdl"]
            .iter()
            .any(|stem| file.strip_prefix(*stem).is_some_and(ends_a_stem))
            || file.starts_with(b"ld-linux")
            || file.starts_with(b"ld-musl")
            || file.starts_with(b"libc.musl")
    }

    /// The function of the stat family that the frame is in.
    pub(crate) fn stat_function(&self) -> Option<&'static str> {
        let (name, _) = self.function.filter(|(_, offset)| *offset < NEAR)?;
        // Symbols may have their version: `stat64@@GLIBC_2.33`.
        let name = memchr(b'@', name).map_or(name, |at| &name[..at]);
        STAT_FUNCTIONS.into_iter().find(|function| function.as_bytes() == name)
    }

    /// The place as the profile keeps it, and the function of the C library that it `calls`.
    pub(crate) fn site(&self, calls: Option<&str>) -> CallSite {
        let near = self.function.filter(|(_, offset)| *offset < NEAR);
        CallSite {
            module: String::from_utf8_lossy(self.module).into(),
            function: near.map(|(name, _)| String::from_utf8_lossy(name).into()),
            offset: near.map_or(self.address, |(_, offset)| offset),
            calls: calls.map(str::to_owned),
        }
    }

    /// Whether `site` is the site of this frame, without creating one.
    pub(crate) fn is(&self, site: &CallSite, calls: Option<&str>) -> bool {
        let near = self.function.filter(|(_, offset)| *offset < NEAR);
        site.offset == near.map_or(self.address, |(_, offset)| offset)
            && site.function.as_ref().map(|f| f.as_bytes()) == near.map(|(name, _)| name)
            && site.module.as_bytes() == self.module
            && site.calls.as_deref() == calls
    }
}

/// Whether `rest` ends a library's stem: `.so.6`, `-2.31.so`.
fn ends_a_stem(rest: &[u8]) -> bool {
    rest.starts_with(b".so") || (rest.first() == Some(&b'-') && decimal(&rest[1..]).1 > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames() {
        let frame = Frame::parse(b" > /usr/bin/app(main+0x2f) [0x11c3]").unwrap();
        assert!(!frame.in_runtime());
        assert_eq!(frame.site(None).to_string(), "main+0x2f");
        assert!(frame.is(&frame.site(None), None));
        let frame = Frame::parse(b" > /usr/bin/ls() [0x4786]").unwrap();
        assert_eq!(frame.site(None).to_string(), "ls+0x4786");
        // The nearest exported symbol of a stripped file is not the function.
        let frame = Frame::parse(b" > /usr/bin/bash(main+0x84aa) [0x2092a]").unwrap();
        assert_eq!(frame.site(None).to_string(), "bash+0x2092a");
        // strace 6.7 -kk, C++ names.
        let frame = Frame::parse(b" > /opt/a(f(int)+0x5) [0x10] a.cc:3").unwrap();
        assert_eq!(frame.site(None).to_string(), "f(int)+0x5");
        let frame = Frame::parse(b" > /memfd:x (deleted)(g+0x5) [0x10]").unwrap();
        assert_eq!(frame.module, b"/memfd:x (deleted)");
        assert_eq!(Frame::parse(b" > unexpected_backtracing_error [0x0]"), None);
        assert_eq!(Frame::parse(b" > /usr/lib/x(cut"), None);
    }

    #[test]
    fn who_called_stat() {
        let below = |names: &[&str]| {
            names.iter().fold(Below::default(), |below, name| {
                let line = format!(" > /lib/libc.so.6({name}) [0xf786a]");
                below.and(&Frame::parse(line.as_bytes()).unwrap())
            })
        };
        assert_eq!(below(&["fstatat+0xa"]).called(), Some("fstatat"));
        assert_eq!(below(&["__xstat64+0x15"]).called(), Some("__xstat64"));
        assert_eq!(below(&["stat64@@GLIBC_2.33+0x1a"]).called(), Some("stat64"));
        assert_eq!(below(&["fstatat+0xa", "tzset+0x30c", "tzset+0x1f"]).called(), None);
        assert_eq!(below(&["realpath+0x1a"]).called(), None);
        // Without symbols, or far from the nearest: unknown.
        assert_eq!(below(&[""]).called(), None);
        assert_eq!(below(&["fstatat+0x2000"]).called(), None);
        assert_eq!(below(&[]).called(), None);
    }

    #[test]
    fn the_c_runtime_by_file_name() {
        let runtime = |file: &str| {
            Frame::parse(format!(" > /lib/{file}(f+0x1) [0x1]").as_bytes()).unwrap().in_runtime()
        };
        for file in [
            "libc.so.6",
            "libc-2.31.so",
            "ld-linux-x86-64.so.2",
            "ld-2.31.so",
            "libm.so.6",
            "libpthread-2.28.so",
            "ld-musl-x86_64.so.1",
        ] {
            assert!(runtime(file), "{file}");
        }
        for file in ["libcurl.so.4", "libmagic.so", "ls", "ldconfig", "libc++.so.1", "ld"] {
            assert!(!runtime(file), "{file}");
        }
    }
}
