//! The stack lines of `-k`: where in the program a call comes from.

use crate::text::{decimal, number};
use memchr::{memchr, memmem, memrchr};
use needless_model::CallSite;

/// Beyond this offset the name of the nearest symbol is taken to be a neighbour's: strace knows
/// only exported symbols.
const NEAR: u64 = 0x1000;

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
        // The last one: C++ names have their own.
        let close = open + memrchr(b')', &s[open..bracket])?;
        let inside = &s[open + 1..close];
        let function = memrchr(b'+', inside).and_then(|plus| {
            Some((&inside[..plus], number(&inside[plus + 1..])?))
                .filter(|(name, _)| !name.is_empty())
        });
        let module = &s[..open];
        (module.first() == Some(&b'/')).then_some(Frame { module, function, address })
    }

    /// Whether the frame is in a library of the C runtime: never the place that asked.
    pub(crate) fn in_runtime(&self) -> bool {
        let file = memrchr(b'/', self.module).map_or(self.module, |at| &self.module[at + 1..]);
        [&b"libc"[..], b"ld", b"libpthread", b"libm", b"ld-linux", b"librt", b"libdl"]
            .iter()
            .any(|stem| file.strip_prefix(*stem).is_some_and(ends_a_stem))
            || file.starts_with(b"ld-linux")
            || file.starts_with(b"ld-musl")
            || file.starts_with(b"libc.musl")
    }

    /// The place as the profile keeps it.
    pub(crate) fn site(&self) -> CallSite {
        let near = self.function.filter(|(_, offset)| *offset < NEAR);
        CallSite {
            module: String::from_utf8_lossy(self.module).into(),
            function: near.map(|(name, _)| String::from_utf8_lossy(name).into()),
            offset: near.map_or(self.address, |(_, offset)| offset),
            calls: None,
        }
    }

    /// Whether `site` is this frame's, without making one.
    pub(crate) fn is(&self, site: &CallSite) -> bool {
        let near = self.function.filter(|(_, offset)| *offset < NEAR);
        site.offset == near.map_or(self.address, |(_, offset)| offset)
            && site.function.as_ref().map(|f| f.as_bytes()) == near.map(|(name, _)| name)
            && site.module.as_bytes() == self.module
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
        assert_eq!(frame.site().to_string(), "main+0x2f");
        assert!(frame.is(&frame.site()));
        let frame = Frame::parse(b" > /usr/bin/ls() [0x4786]").unwrap();
        assert_eq!(frame.site().to_string(), "ls+0x4786");
        // The nearest exported symbol of a stripped file is not the function.
        let frame = Frame::parse(b" > /usr/bin/bash(main+0x84aa) [0x2092a]").unwrap();
        assert_eq!(frame.site().to_string(), "bash+0x2092a");
        // strace 6.7 -kk, C++ names.
        let frame = Frame::parse(b" > /opt/a(f(int)+0x5) [0x10] a.cc:3").unwrap();
        assert_eq!(frame.site().to_string(), "f(int)+0x5");
        let frame = Frame::parse(b" > /memfd:x (deleted)(g+0x5) [0x10]").unwrap();
        assert_eq!(frame.module, b"/memfd:x (deleted)");
        assert_eq!(Frame::parse(b" > unexpected_backtracing_error [0x0]"), None);
        assert_eq!(Frame::parse(b" > /usr/lib/x(cut"), None);
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
