//! Zones to test: files, TZ strings, and random changes of both.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the zones are.
pub(crate) const ZONEINFO: &str = "/usr/share/zoneinfo";

/// Marsaglia's xorshift: the same numbers for the same seed.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// 0 up to, not including, `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Between -`end` and `end`.
    pub(crate) fn signed(&mut self, end: i64) -> i64 {
        self.next() as i64 % end
    }

    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len() as u64) as usize]
    }
}

/// TZ strings, valid and malformed.
pub(crate) const TEXTS: &[&str] = &[
    "",
    "UTC0",
    "JST-9",
    "EST5EDT,M3.2.0,M11.1.0",
    "AEST-10AEDT,M10.1.0,M4.1.0/3",
    "<+0330>-3:30<+0430>,J79/24,J263/24",
    "<-03>3<-02>,M3.5.0/-2,M10.5.0/-1",
    "IST-1GMT0,M10.5.0,M3.5.0/1",
    "XXX3EDT4,0/0,J365/23",
    "EET-2EEST,M3.5.0/3,M10.5.0/4",
    "ABC5DEF,M2.5.0,M2.5.1",
    "AAA3BBB,M11.3.1,J321/10",
    "CETX-1CESX",
    "CETX-1CESX,",
    "CETX-1CESX,junk",
    "Foo",
    "Foo/Bar",
    "F",
    "AB3",
    "<AB>3",
    "<ABC>3",
    "<ABC3",
    "ABC+",
    "ABC-",
    "ABC 5",
    "ABC- 5",
    "ABC5 DEF",
    "ABC5DEF 4",
    "ABC5DEF- 4,M3.2.0,M11.1.0",
    "ABC24:59:59",
    "ABC25",
    "ABC99:99:99",
    "ABC-99999999999999999999",
    "ABC5:",
    "ABC5:3:",
    "ABC5:+3",
    "ABC5: 3",
    "ABC5DEF,J0,J1",
    "ABC5DEF,J366,J1",
    "ABC5DEF,366,1",
    "ABC5DEF,365,1",
    "ABC5DEF,1",
    "ABC5DEF,M3.2.0",
    "EST5EDT,",
    "EST5EDT,M3.2.0",
    "EST5EDT,M99",
    "JST-9JDT,M99",
    "JST-9x",
    "EST5x",
    "ABC5DEF,M3.2.0,",
    "ABC5DEF,M3.2.0/,M11.1.0",
    "ABC5DEF,M3.2.0/x,M11.1.0",
    "ABC5DEF,M3.2.0/--5,M11.1.0",
    "ABC5DEF,M3.2.0/+5,M11.1.0",
    "ABC5DEF,M3.2.0/167,M11.1.0/-167",
    "ABC5DEF,M3.2.0/65535:65535:65535,M11.1.0/-65535:65535:65535",
    "ABC5DEF,M3.6.0,M11.1.0",
    "ABC5DEF,M3.2.7,M11.1.0",
    "ABC5DEF,M3.0.0,M11.1.0",
    "ABC5DEF,M3,M11.1.0",
    "ABC5DEF,M3.2,M11.1.0",
    "ABC5DEF,M3.2.0M11.1.0",
    "ABC5DEFM3.2.0,M11.1.0",
    "ABC5,M3.2.0,M11.1.0",
    "ABC5D",
    "ABC5<+1>",
    "ABC5DEF5,M3.2.0,M11.1.0",
    "ABC5DEF6,M3.2.0,M11.1.0",
    "ABC5DEF,J60,J300",
    "ABC5DEF,59,300",
    "ABC5DEF,J59/24,J60/0",
    "ABC5DEF,M2.5.0,M2.5.1",
    "ABC5DEF,M12.5.0/48,M1.1.0/-48",
    "ABC5DEF,M+3.+2.+0,M 11. 1. 0",
    "ABC5DEF,M65539.2.0,M11.1.0",
    "A\u{fc}C5",
    "ABC\u{b2}5",
];

/// A random TZ string, half of the time with mistakes.
pub(crate) fn text(random: &mut Random) -> Vec<u8> {
    let mut made = String::new();
    let name = |random: &mut Random| {
        (*random.pick(&["ABCX", "QWERT", "<+03>", "<-0330>", "<A1B>", "xyz", "AB", "<>"]))
            .to_owned()
    };
    let clock = |random: &mut Random, most: u64| {
        let sign = *random.pick(&["", "", "-", "+"]);
        let hours = random.below(most);
        let rest = *random.pick(&["", "", "", ":30", ":45:59", ":1:2", ":", ":60:60"]);
        format!("{sign}{hours}{rest}")
    };
    let date = |random: &mut Random| match random.below(4) {
        0 => format!("J{}", random.below(367)),
        1 => format!("{}", random.below(367)),
        _ => format!(
            "M{}.{}.{}",
            1 + random.below(12),
            1 + random.below(5) + random.below(30) / 29,
            random.below(7) + random.below(30) / 29
        ),
    };
    made += &name(random);
    made += &clock(random, 26);
    if random.below(5) != 0 {
        made += &name(random);
        if random.below(2) == 0 {
            made += &clock(random, 26);
        }
        let dates = *random.pick(&[2, 2, 2, 2, 2, 2, 1, 0]);
        for _ in 0..dates {
            made += ",";
            made += &date(random);
            if random.below(2) == 0 {
                made += "/";
                let most = if random.below(3) == 0 { 170 } else { 25 };
                made += &clock(random, most);
            }
        }
    }
    let mut made = made.into_bytes();
    if random.below(2) == 0 {
        for _ in 0..1 + random.below(3) {
            mutate(random, &mut made, b" +-:,./<>0159JMABCxyz\t\xe9");
        }
    }
    made
}

fn mutate(random: &mut Random, text: &mut Vec<u8>, alphabet: &[u8]) {
    let at = random.below(text.len() as u64 + 1) as usize;
    let byte = *random.pick(alphabet);
    match random.below(3) {
        0 => text.insert(at, byte),
        1 if at < text.len() => text[at] = byte,
        _ => drop((at < text.len()).then(|| text.remove(at))),
    }
}

/// Whether a month is outside of 1 to 12: glibc then reads outside its table of months.
pub(crate) fn is_undefined(text: &[u8]) -> bool {
    let months = text.split(|&b| b == b'M').skip(1);
    let mut bad = months.filter(|rest| {
        let rest = String::from_utf8_lossy(rest);
        let rest = rest.trim_start_matches([' ', '\t', '+']);
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        !digits.parse::<u32>().is_ok_and(|month| (1..=12).contains(&(month & 0xffff)))
    });
    bad.next().is_some()
}

/// As part of a path.
pub(crate) fn os(text: &[u8]) -> &OsStr {
    OsStr::from_bytes(text)
}

/// The names and contents of all zone files below the directory.
pub(crate) fn zone_files(root: &Path) -> Result<Vec<(String, Vec<u8>)>, String> {
    let mut found = Vec::new();
    let mut open: Vec<PathBuf> = vec![root.into()];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let list =
                std::fs::read_dir(&path).map_err(|why| format!("{}: {why}", path.display()))?;
            open.extend(list.flatten().map(|entry| entry.path()));
        } else if let Ok(bytes) = std::fs::read(&path)
            && bytes.starts_with(b"TZif")
        {
            let name = path.strip_prefix(root).expect("below the root");
            found.push((name.display().to_string(), bytes));
        }
    }
    found.sort();
    if found.is_empty() { Err(format!("no zone files in {}", root.display())) } else { Ok(found) }
}

/// The zones of tzdata's source, compiled into `at`: slim (without what the footer says) or fat, with leap seconds or
/// without. Their names are paths.
///
/// # Errors
///
/// What is not installed: zic, or the source, which Debian and Ubuntu install beside the files.
pub(crate) fn compiled(
    at: &Path,
    form: &str,
    leaps: bool,
) -> Result<Vec<(String, Vec<u8>)>, String> {
    let root = Path::new(ZONEINFO);
    let target = at.join(form).join(if leaps { "right" } else { "posix" });
    let mut zic = Command::new("zic");
    let path = std::env::var("PATH").unwrap_or_default();
    zic.env("PATH", format!("{path}:/usr/sbin:/sbin")).args(["-b", form, "-d"]).arg(&target);
    if leaps {
        zic.arg("-L").arg(root.join("leapseconds"));
    }
    let made = zic.arg(root.join("tzdata.zi")).output().map_err(|why| format!("zic: {why}"))?;
    if !made.status.success() {
        return Err(format!("zic: {}", String::from_utf8_lossy(&made.stderr)));
    }
    let found = zone_files(&target)?;
    let named = |name: String| target.join(name).display().to_string();
    Ok(found.into_iter().map(|(name, bytes)| (named(name), bytes)).collect())
}

fn number(bytes: &[u8], at: usize) -> usize {
    let four = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
    u32::from_be_bytes(four.unwrap_or_default()) as usize
}

/// Where the tables that are used begin (after their header), and the width of their times.
fn tables(bytes: &[u8]) -> (usize, usize) {
    if bytes.get(4) == Some(&0) {
        return (44, 4);
    }
    let [isut, isstd, leaps, times, types, chars] =
        [20, 24, 28, 32, 36, 40].map(|at| number(bytes, at));
    (44 + times * 5 + types * 6 + chars + leaps * 8 + isstd + isut + 44, 8)
}

/// The transitions and leap seconds of a file, without any check.
pub(crate) fn transitions(bytes: &[u8]) -> Vec<i64> {
    let (start, width) = tables(bytes);
    let [leaps, times, types, chars] = [28, 32, 36, 40].map(|at| number(bytes, start - 44 + at));
    let time = |at: usize| -> Option<i64> {
        let raw = bytes.get(at..at + width)?;
        let sign = i64::from(raw[0] as i8) >> 7;
        Some(raw.iter().fold(sign, |value, &byte| value << 8 | i64::from(byte)))
    };
    let leap_table = start + times * (width + 1) + types * 6 + chars;
    let changes = (0..times).map_while(|at| time(start + at * width));
    let seconds = (0..leaps).map_while(|at| time(leap_table + at * (width + 4)));
    changes.chain(seconds).collect()
}

/// Well-formed files that tzdata lacks: with the name of a type in the midst of the table, and without transitions to
/// one of the two kinds of time. glibc then leaves a name in `tzname` that need not be that of a type.
pub(crate) fn unusual() -> Vec<(&'static str, Vec<u8>)> {
    // For each transition its moment and type; for each type its offset, flag and name.
    let file = |changes: &[(i64, u8)], types: &[(i32, u8, u8)], names: &[u8]| {
        let mut bytes = Vec::new();
        for changes in [&[], changes] {
            bytes.extend(b"TZif2");
            bytes.extend([0; 15 + 12]);
            for count in [changes.len(), types.len(), names.len()] {
                bytes.extend((count as u32).to_be_bytes());
            }
            bytes.extend(changes.iter().flat_map(|(at, _)| at.to_be_bytes()));
            bytes.extend(changes.iter().map(|(_, kind)| kind));
            for (offset, isdst, name) in types {
                bytes.extend(offset.to_be_bytes());
                bytes.extend([isdst, name]);
            }
            bytes.extend(names);
        }
        bytes.extend(b"\n\n");
        bytes
    };
    let two = [(0, 0, 0), (3600, 1, 4)];
    vec![
        ("a name's end", file(&[], &[(0, 0, 2)], b"UTC\0")),
        ("the second name", file(&[], &[(0, 0, 4)], b"UTC\0ABC\0")),
        ("no transition", file(&[], &two, b"WIN\0SUM\0")),
        ("to winter", file(&[(1000, 0)], &two, b"WIN\0SUM\0")),
        ("to summer", file(&[(1000, 1)], &two, b"WIN\0SUM\0")),
        ("to summer, without winter", file(&[(1000, 0)], &[(3600, 1, 4)], b"WIN\0SUM\0")),
    ]
}

/// The file with some bytes changed, removed or added.
pub(crate) fn corrupted(random: &mut Random, bytes: &[u8]) -> Vec<u8> {
    let mut bad = bytes.to_vec();
    let (start, _) = tables(bytes);
    for _ in 0..1 + random.below(3) {
        if bad.is_empty() {
            break;
        }
        let at = random.below(bad.len() as u64) as usize;
        match random.below(8) {
            0 => bad.truncate(at),
            1 => bad.push(random.next() as u8),
            2 => drop(bad.pop()),
            // The header.
            3 if start < bad.len() => {
                bad[start - 24 + random.below(24) as usize] ^= 1 << random.below(3);
            }
            // Types, names and the footer are at the end.
            4 => {
                let end = bad.len();
                let at = end - 1 - random.below(end.min(120) as u64) as usize;
                bad[at] = *random.pick(b"\0\x01\x02\n,.M0159-A");
            }
            5 => bad[at] ^= 1 << random.below(8),
            6 => bad[at] = random.next() as u8,
            _ => {
                bad.remove(at);
            }
        }
    }
    bad
}

/// Whether the file has no local time type: glibc then reads uninitialised memory.
pub(crate) fn has_no_types(bytes: &[u8]) -> bool {
    let (start, _) = tables(bytes);
    bytes.get(start - 44..start).is_some_and(|header| header.starts_with(b"TZif"))
        && number(bytes, start - 44 + 36) == 0
}

/// Whether glibc's answer for the file is undefined: it reads memory outside the zone, or the answer depends on where
/// its search starts.
pub(crate) fn is_undefined_file(bytes: &[u8]) -> bool {
    let (start, width) = tables(bytes);
    let count = |at: usize| number(bytes, start - 44 + at);
    let [isut, isstd, leaps, times, types, chars] = [20, 24, 28, 32, 36, 40].map(count);
    let kinds = start + times * width;
    let type_table = kinds + times;
    let names = type_table + types * 6;
    let end = names + chars + leaps * (width + 4) + isstd + isut;
    let table = &bytes[names..names + chars];
    // An abbreviation that does not end within the table.
    let open = (0..types).any(|at| {
        let name = bytes[type_table + at * 6 + 5];
        !table[usize::from(name)..].contains(&0)
    });
    // With unsorted transitions the answer depends on where the search starts.
    let order = transitions(bytes);
    let unsorted = !order[..times].is_sorted();
    // A footer that makes glibc read `posixrules` in the middle of a conversion, or see `is_undefined`.
    let footer = bytes.get(end + 1..).unwrap_or_default();
    let lacks_rules = !footer.contains(&b',') || footer.ends_with(b",") || footer.ends_with(b",\n");
    let has_summer = footer.iter().filter(|b| b.is_ascii_alphabetic() || **b == b'<').count() > 3;
    open || unsorted || width == 8 && (lacks_rules && has_summer || is_undefined(footer))
}
