//! The path in the arguments of a call, and the file that it names.

use crate::call_names::{PathAt, Role};
use crate::text::{closing_quote, number, unescape};
use memchr::{memchr, memchr3, memmem, memrchr};
use needless_model::{Query, WatchList};

/// A path in the arguments.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PathArg<'a> {
    /// All arguments.
    pub args: &'a [u8],
    /// The arguments up to the closing quote: equal bytes, equal question (but for flags).
    pub head: &'a [u8],
    /// The argument with the directory, of calls that have one.
    pub dir: Option<&'a [u8]>,
    /// The path, with its escapes.
    pub raw: &'a [u8],
    /// The arguments after the path.
    pub rest: &'a [u8],
}

/// What was found in the place of a path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Path<'a> {
    /// A path.
    Found(PathArg<'a>),
    /// No string where one is expected: `NULL` (utimensat on a descriptor).
    Null,
    /// Only a pointer, or a string that was cut.
    Unreadable,
}

/// Finds the path.
pub(crate) fn find(path_at: PathAt, args: &[u8]) -> Path<'_> {
    let others = match path_at {
        PathAt::Nowhere => return Path::Null,
        PathAt::First | PathAt::AfterDir(0) => Some(0),
        PathAt::Second => behind(args, 1),
        PathAt::AfterDir(others) => behind(args, others),
    };
    let Some(others) = others else { return Path::Unreadable };
    let mine = &args[others..];
    let start = match path_at {
        PathAt::AfterDir(_) => after_dir(mine),
        _ => (mine.first() == Some(&b'"')).then_some(1),
    };
    let Some(start) = start.map(|start| others + start) else {
        let null = match path_at {
            PathAt::AfterDir(_) => memmem::find(mine, b", NULL").is_some(),
            _ => mine.starts_with(b"NULL"),
        };
        return if null { Path::Null } else { Path::Unreadable };
    };
    let Some(len) = closing_quote(&args[start..]) else { return Path::Unreadable };
    let rest = &args[start + len + 1..];
    if rest.starts_with(b"...") {
        return Path::Unreadable;
    }
    Path::Found(PathArg {
        args,
        head: &args[..start + len],
        dir: matches!(path_at, PathAt::AfterDir(_)).then(|| &args[others..start - 3]),
        raw: &args[start..start + len],
        rest: rest.strip_prefix(b", ").unwrap_or(rest),
    })
}

/// Where the arguments after the first `others` start.
fn behind(args: &[u8], others: u8) -> Option<usize> {
    let mut at = 0;
    for _ in 0..others {
        at += argument(&args[at..])?;
        at += args[at..].strip_prefix(b", ").map(|_| 2)?;
    }
    Some(at)
}

/// The length of the first argument: `"text"...`, `3</a, b>`, `QCMD(Q_SYNC, USRQUOTA)`, `NULL`.
fn argument(args: &[u8]) -> Option<usize> {
    if args.first() == Some(&b'"') {
        let len = 2 + closing_quote(&args[1..])?;
        return Some(if args[len..].starts_with(b"...") { len + 3 } else { len });
    }
    let mut at = 0;
    loop {
        at += memchr3(b',', b'(', b'<', &args[at..])?;
        match args[at] {
            b',' => return Some(at),
            b'(' => at += memchr(b')', &args[at..])?,
            _ => return Some(at + memmem::find(&args[at..], b">, ")? + 1),
        }
    }
}

/// Where the string starts that is the second argument.
fn after_dir(args: &[u8]) -> Option<usize> {
    const PLAIN: &[u8] = b"AT_FDCWD, \"";
    if args.starts_with(PLAIN) {
        return Some(PLAIN.len());
    }
    let quote = memchr(b'"', args)?;
    let before = args[..quote].strip_suffix(b", ")?;
    if memchr(b'<', before).is_none() {
        return memchr(b',', before).is_none().then_some(quote + 1);
    }
    // -y: the path of the descriptor may contain any bytes.
    Some(memmem::find(args, b">, \"")? + 4)
}

/// The question, by the flags of the call.
pub(crate) fn ask(role: Role, query: Query, found: &PathArg<'_>) -> Query {
    if found.raw.is_empty() && empty_path(role, found.rest) {
        return Query::NoPath;
    }
    match role {
        Role::Open => open(found.rest),
        Role::Status | Role::Statx => {
            if role == Role::Status && found.rest.ends_with(b", 0") {
                return Query::Stat;
            }
            let flags = at_flags(role, found.rest);
            let nofollow = match number(flags) {
                Some(flags) => Query::status(flags) == Query::Lstat,
                None => has_word(flags, b"AT_SYMLINK_NOFOLLOW"),
            };
            if nofollow { Query::Lstat } else { Query::Stat }
        }
        _ => query,
    }
}

/// `O_RDONLY|O_CLOEXEC`, `O_WRONLY|O_CREAT, 0666`, `0x80000`, `{flags=O_RDONLY, resolve=0}, 24`.
fn open(rest: &[u8]) -> Query {
    let flags = rest.strip_prefix(b"{flags=").unwrap_or(rest);
    if let Some(flags) = number(flags) {
        return Query::open(flags);
    }
    let end = flags.iter().position(|b| matches!(b, b',' | b' ' | b'}')).unwrap_or(flags.len());
    let writes = |word: &[u8]| matches!(word, b"O_WRONLY" | b"O_RDWR" | b"O_CREAT" | b"O_TRUNC");
    if flags[..end].split(|b| *b == b'|').any(writes) { Query::OpenWrite } else { Query::Open }
}

/// Whether a call that succeeded shows that its path is a directory.
pub(crate) fn is_directory(query: Query, rest: &[u8]) -> bool {
    match query {
        Query::Open => memmem::find(rest, b"O_DIRECTORY").is_some(),
        // `st_mode=` or `stx_mode=`
        Query::Stat | Query::Lstat => memmem::find(rest, b"_mode=S_IFDIR").is_some(),
        _ => false,
    }
}

/// `AT_*` flags: the last argument of newfstatat, the third of statx.
fn at_flags(role: Role, rest: &[u8]) -> &[u8] {
    if role == Role::Statx {
        return &rest[..memchr(b',', rest).unwrap_or(rest.len())];
    }
    let last = memrchr(b',', rest).map_or(rest, |at| &rest[at + 1..]);
    last.strip_prefix(b" ").unwrap_or(last)
}

/// Whether an empty path means the descriptor itself.
pub(crate) fn empty_path(role: Role, rest: &[u8]) -> bool {
    if rest.ends_with(b", AT_EMPTY_PATH") {
        return true;
    }
    const AT_EMPTY_PATH: u64 = 0x1000;
    if matches!(role, Role::Status | Role::Statx)
        && let Some(flags) = number(at_flags(role, rest))
    {
        return flags & AT_EMPTY_PATH != 0;
    }
    memmem::find(rest, b"AT_EMPTY_PATH").is_some()
}

fn has_word(flags: &[u8], word: &[u8]) -> bool {
    flags.split(|b| matches!(b, b'|' | b' ')).any(|w| w == word)
}

/// The text for the fingerprint of an answer: everything after the path, except the access time, which
/// the reader itself changes.
pub(crate) fn answer(role: Role, query: Query, rest: &[u8]) -> Option<(&[u8], &[u8])> {
    if role == Role::Readlink {
        return (rest.first() == Some(&b'"')).then_some((rest, b""));
    }
    if !matches!(query, Query::Stat | Query::Lstat) {
        return None;
    }
    let rest = if rest.first() == Some(&b'{') { rest } else { &rest[memchr(b'{', rest)?..] };
    if rest.len() < 128 {
        return Some((rest, b"")); // abbreviated: mode and size
    }
    let times = [(&b"stx_atime="[..], &b"stx_btime="[..]), (b"st_atime=", b"st_mtime=")];
    for (from, to) in times {
        if let Some(from) = memmem::find(rest, from) {
            let to = memmem::find(&rest[from..], to).map_or(rest.len(), |at| from + at);
            return Some((&rest[..from], &rest[to..]));
        }
    }
    Some((rest, b""))
}

/// What a path is relative to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Base {
    /// This directory, with its path in `text`.
    CachedCall,
    /// The working directory.
    Cwd,
    /// A directory of which only the descriptor is known.
    Fd,
}

/// What a relative path is relative to; the directory, where it is known, is written to `text`.
pub(crate) fn base(dir: Option<&[u8]>, text: &mut Vec<u8>) -> Base {
    text.clear();
    let Some(dir) = dir else { return Base::Cwd };
    let named = dir.starts_with(b"AT_FDCWD") || dir.starts_with(b"-100");
    let named = named || dir.starts_with(b"0xffffff9c");
    if let Some(path) = decoration(dir) {
        unescape(path, text);
        return Base::CachedCall;
    }
    if named { Base::Cwd } else { Base::Fd }
}

/// The path that `-y` shows after a descriptor: `3</etc>`, `0</dev/null<char 1:3>>`.
pub(crate) fn decoration(fd: &[u8]) -> Option<&[u8]> {
    let inside = fd.strip_suffix(b">")?;
    let inside = &inside[memchr(b'<', inside)? + 1..];
    let path = &inside[..memchr(b'<', inside).unwrap_or(inside.len())];
    (path.first() == Some(&b'/') && !path.ends_with(b"(deleted)")).then_some(path)
}

/// The variables of `watch` in the environment that `strace -v` prints as the second array of an
/// execve's arguments, and all texts of it that were not cut; `rest` follows the path.
pub(crate) fn environment(rest: &[u8], watch: &WatchList) -> Option<(Vec<Variable>, Vec<String>)> {
    let mut at = array(rest, |_, _| {})?;
    at = rest[at..].strip_prefix(b", ").map(|_| at + 2)?;
    let (mut found, mut whole) = (Vec::new(), Vec::new());
    array(&rest[at..], |raw, cut| {
        // -xx: the name is all escapes.
        let mut text = Vec::new();
        unescape(raw, &mut text);
        let name = &text[..memchr(b'=', &text).unwrap_or(text.len())];
        // `-s 3` leaves "LC_"...: it may be one of the variables.
        let unsure = cut && name.len() == text.len();
        let is = |w: &&str| w.as_bytes() == name || (unsure && w.as_bytes().starts_with(name));
        if let Some(name) = watch.iter().find(is) {
            let value = text.get(name.len() + 1..).unwrap_or_default();
            let value = String::from_utf8_lossy(value).into_owned();
            found.push(Variable { name: name.to_owned(), value, cut });
        }
        whole.extend(Some(text).filter(|_| !cut).and_then(|text| String::from_utf8(text).ok()));
    })?;
    Some((found, whole))
}

/// A variable, without the escapes with which it is printed.
pub(crate) struct Variable {
    pub name: String,
    pub value: String,
    /// Whether `-s` cut it.
    pub cut: bool,
}

/// Walks `["a", "b"...]`; returns its length.
fn array<'a>(s: &'a [u8], mut each: impl FnMut(&'a [u8], bool)) -> Option<usize> {
    let mut at = s.strip_prefix(b"[").map(|_| 1)?;
    loop {
        match s.get(at)? {
            b']' => return Some(at + 1),
            b',' | b' ' => at += 1,
            b'"' => {
                let len = closing_quote(&s[at + 1..])?;
                let text = &s[at + 1..at + 1 + len];
                at += len + 2;
                let cut = s[at..].starts_with(b"...");
                each(text, cut);
                at += if cut { 3 } else { 0 };
            }
            // An array that was cut, a pointer: not all is known.
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests;
