//! TZ strings (POSIX.1-2024 base definitions clause 8.3, `tzset(3)`; RFC 9636 section 3.3 for the footer of a
//! file), read as leniently as glibc 2.36 reads them, and with the same result where it stops halfway.
//!
//! A string may end anywhere. What was understood up to there applies, and the rest stays 0: `EST5EDT,junk` is
//! daylight saving time for all but the first hours of a year.

/// The day of a year on which a rule's transition falls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RuleDay {
    /// `Jn`: 29 February is never counted. 1 to 365; 0 if the string was wrong.
    Julian(u16),
    /// `n`: days since 1 January, 29 February counted.
    ZeroBased(u16),
    /// `Mm.w.d`.
    Month {
        /// 1 to 12, else the string was wrong.
        month: u16,
        /// 1 to 5, 5 for the last, else the string was wrong.
        week: u16,
        /// 0 (Sunday) to 6, else the string was wrong.
        weekday: u16,
    },
}

/// When in a year a transition happens: `date[/time]` of the string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TransitionRule {
    pub(crate) on: RuleDay,
    /// Seconds after that day's midnight, by the clock before the transition.
    pub(crate) seconds: i32,
}

/// What a rule is before it is read.
const UNSET: TransitionRule = TransitionRule { on: RuleDay::ZeroBased(0), seconds: 0 };
const TWO_O_CLOCK: i32 = 2 * 3600;
/// The rules of a string that has none, where no file `posixrules` exists: the United States' since 2007.
const DEFAULT: [TransitionRule; 2] = [
    TransitionRule { on: RuleDay::Month { month: 3, week: 2, weekday: 0 }, seconds: TWO_O_CLOCK },
    TransitionRule { on: RuleDay::Month { month: 11, week: 1, weekday: 0 }, seconds: TWO_O_CLOCK },
];

/// A TZ string that was read: standard time first, daylight saving time second.
#[derive(Clone, Debug)]
pub(crate) struct TzString {
    pub(crate) names: [Vec<u8>; 2],
    /// Seconds east of UTC.
    pub(crate) offsets: [i32; 2],
    /// The transitions to daylight saving time and back.
    pub(crate) rules: [TransitionRule; 2],
    /// The kind of a string that was read to its end; `None` where a mistake stopped it.
    pub(crate) kind: Option<PosixTz>,
}

/// The kind of a TZ string without a mistake, as glibc reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PosixTz {
    /// `JST-9`, `<+03>-3`: a fixed offset.
    Fixed,
    /// `CET-1CEST`: daylight saving time without its dates.
    NoRule,
    /// `CET-1CEST,M3.5.0,M10.5.0/3`; of two rules the second may be missing.
    WithRule,
}

/// The kind of `text`, a TZ without a leading colon. `None` where glibc does not read all of it: it is the name of
/// a file, or has a mistake. Then [`Zone::from_posix`](crate::Zone::from_posix) knows what glibc makes of the part
/// before the mistake.
pub fn posix_tz(text: &str) -> Option<PosixTz> {
    TzString::parse(text.as_bytes()).kind
}

impl TzString {
    /// Reads up to the first NUL or the end.
    pub(crate) fn parse(text: &[u8]) -> TzString {
        let mut zone = TzString {
            names: [Vec::new(), Vec::new()],
            offsets: [0; 2],
            rules: [UNSET; 2],
            kind: None,
        };
        let mut rest = Rest(text.split(|&b| b == 0).next().unwrap_or_default());
        zone.kind = zone.read(&mut rest);
        zone
    }

    /// `None` after a mistake: what was read before it stays.
    fn read(&mut self, rest: &mut Rest<'_>) -> Option<PosixTz> {
        let name = rest.name()?;
        self.names[0] = name.to_vec();
        if !matches!(rest.peek(), b'+' | b'-' | b'0'..=b'9') {
            return None;
        }
        let offset = rest.offset()?;
        self.offsets[0] = offset;
        if rest.0.is_empty() {
            self.names[1] = self.names[0].clone();
            self.offsets[1] = offset;
            return Some(PosixTz::Fixed);
        }
        let mut kind = None;
        if let Some(name) = rest.name() {
            self.names[1] = name.to_vec();
            self.offsets[1] = rest.offset().unwrap_or(offset + 3600);
            let lacks_rules = matches!(rest.0, b"" | b",");
            kind = Some(if lacks_rules { PosixTz::NoRule } else { PosixTz::WithRule });
        }
        // Rules are read even where no daylight saving time is named.
        for (rule, default) in self.rules.iter_mut().zip(DEFAULT) {
            rest.rule(rule, default)?;
        }
        kind.filter(|_| rest.0.is_empty())
    }
}

/// The part of the string that is not read yet.
struct Rest<'t>(&'t [u8]);

impl<'t> Rest<'t> {
    /// The next byte; 0 at the end.
    fn peek(&self) -> u8 {
        self.0.first().copied().unwrap_or(0)
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == byte && byte != 0;
        if found {
            self.0 = &self.0[1..];
        }
        found
    }

    fn take_while(&mut self, belongs: impl Fn(u8) -> bool) -> &'t [u8] {
        let end = self.0.iter().position(|&b| !belongs(b)).unwrap_or(self.0.len());
        let (taken, rest) = self.0.split_at(end);
        self.0 = rest;
        taken
    }

    /// `ABC` or `<+03>`, three bytes or more. Where there is no name, nothing is consumed.
    fn name(&mut self) -> Option<&'t [u8]> {
        let start = self.0;
        let letters = self.take_while(|b| b.is_ascii_alphabetic());
        if letters.len() >= 3 {
            return Some(letters);
        }
        self.0 = start;
        if self.take(b'<') {
            let quoted = self.take_while(|b| b.is_ascii_alphanumeric() || b"+-".contains(&b));
            if quoted.len() >= 3 && self.take(b'>') {
                return Some(quoted);
            }
        }
        self.0 = start;
        None
    }

    /// `[+|-]hh[:mm[:ss]]`, in seconds east of UTC (the string counts west). `None` without a number; a sign
    /// before it is consumed in any case.
    fn offset(&mut self) -> Option<i32> {
        let east = match self.peek() {
            b'-' => 1,
            _ => -1,
        };
        if matches!(self.peek(), b'-' | b'+') {
            self.0 = &self.0[1..];
        }
        let [hours, minutes, seconds] = self.clock()?.map(i32::from);
        Some(east * (hours.min(24) * 3600 + minutes.min(59) * 60 + seconds.min(59)))
    }

    /// `hh[:mm[:ss]]` as `%hu:%hu:%hu` of `scanf(3)` reads it: `None` if not even `hh` is there.
    fn clock(&mut self) -> Option<[u16; 3]> {
        let mut parts = [self.short()?, 0, 0];
        for part in &mut parts[1..] {
            let before = self.0;
            let number = if self.take(b':') { self.short() } else { None };
            let Some(number) = number else {
                self.0 = before;
                break;
            };
            *part = number;
        }
        Some(parts)
    }

    /// A number as `%hu` of `scanf(3)` reads it: white space, a sign, any number of digits; the low 16 bits are
    /// kept. Where there is no number, nothing is consumed.
    fn short(&mut self) -> Option<u16> {
        let start = self.0;
        self.take_while(|b| b.is_ascii_whitespace() || b == 0x0b);
        let negative = self.take(b'-');
        let _ = negative || self.take(b'+');
        let Some(value) = self.digits() else {
            self.0 = start;
            return None;
        };
        let value = match value {
            // A value that is too large becomes the largest one, whatever its sign.
            None => u64::MAX,
            Some(value) if negative => value.wrapping_neg(),
            Some(value) => value,
        };
        Some(value as u16)
    }

    /// Digits as a number; `Some(None)` if it exceeds 64 bits.
    fn digits(&mut self) -> Option<Option<u64>> {
        let digits = self.take_while(|b| b.is_ascii_digit());
        if digits.is_empty() {
            return None;
        }
        let value = digits.iter().try_fold(0u64, |value, digit| {
            value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
        });
        Some(value)
    }

    /// `date[/time]`. What was read before a mistake stays in `rule`.
    fn rule(&mut self, rule: &mut TransitionRule, default: TransitionRule) -> Option<()> {
        self.take(b',');
        match self.peek() {
            0 => *rule = default,
            b'J' => {
                self.take(b'J');
                rule.on = RuleDay::Julian(0);
                let day = self.digits()?.filter(|day| (1..=365).contains(day))?;
                rule.on = RuleDay::Julian(day as u16);
            }
            b'0'..=b'9' => {
                let day = self.digits()?.filter(|&day| day <= 365)?;
                rule.on = RuleDay::ZeroBased(day as u16);
            }
            b'M' => {
                self.take(b'M');
                self.month(&mut rule.on)?;
            }
            _ => return None,
        }
        match self.peek() {
            0 | b',' => rule.seconds = TWO_O_CLOCK,
            b'/' => {
                self.take(b'/');
                if self.0.is_empty() {
                    return None;
                }
                let sign = if self.take(b'-') { -1 } else { 1 };
                let [hours, minutes, seconds] = self.clock().unwrap_or([2, 0, 0]).map(i32::from);
                rule.seconds = sign * (hours * 3600 + minutes * 60 + seconds);
            }
            _ => return None,
        }
        Some(())
    }

    /// `m.w.d`. `on` keeps the numbers that could be read, even if the whole is refused.
    fn month(&mut self, on: &mut RuleDay) -> Option<()> {
        let mut parts = [0; 3];
        let mut complete = true;
        for (at, part) in parts.iter_mut().enumerate() {
            let number = if at == 0 || self.take(b'.') { self.short() } else { None };
            let Some(number) = number else {
                complete = false;
                break;
            };
            *part = number;
        }
        let [month, week, weekday] = parts;
        *on = RuleDay::Month { month, week, weekday };
        let sound = (1..=12).contains(&month) && (1..=5).contains(&week) && weekday <= 6;
        (complete && sound).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_string_is_read() {
        let zone = TzString::parse(b"<+0330>-3:30<+0430>,J79/24,M9.5.0/-1:30");
        assert_eq!(zone.names, [b"+0330", b"+0430"]);
        assert_eq!(zone.offsets, [12_600, 16_200]);
        assert_eq!(zone.rules[0], TransitionRule { on: RuleDay::Julian(79), seconds: 86_400 });
        let last_sunday = RuleDay::Month { month: 9, week: 5, weekday: 0 };
        assert_eq!(zone.rules[1], TransitionRule { on: last_sunday, seconds: -5_400 });
        assert_eq!(zone.kind, Some(PosixTz::WithRule));
    }

    #[test]
    fn what_was_read_before_a_mistake_stays() {
        let zone = TzString::parse(b"EST5EDT,junk");
        assert_eq!((zone.offsets, zone.rules), ([-18_000, -14_400], [UNSET; 2]));
        let zone = TzString::parse(b"Foo/Bar");
        assert_eq!((zone.names[0].as_slice(), zone.offsets), (&b"Foo"[..], [0; 2]));
        assert!(TzString::parse(b"AB3").names[0].is_empty());
    }

    #[test]
    fn a_string_of_names_lacks_rules() {
        for text in ["CET-1CEST", "CET-1CEST,", "GMT0BST", "<+02>-2<+03>", "AAA3BBB2:30"] {
            assert_eq!(posix_tz(text), Some(PosixTz::NoRule), "{text}");
        }
        assert_eq!(TzString::parse(b"CET-1CEST").rules, DEFAULT);
    }

    #[test]
    fn what_is_read_to_its_end_has_a_kind() {
        for fixed in ["JST-9", "UTC0", "GMT+0", "<+03>-3", "<-0330>+3:30", "AAA+12:34:56", "JST-25"]
        {
            assert_eq!(posix_tz(fixed), Some(PosixTz::Fixed), "{fixed}");
        }
        for rules in ["AEST-10AEDT,J274,J90/2", "XXX3YYY,0/0,364/24:30", "CET-1CEST,M3.5.0"] {
            assert_eq!(posix_tz(rules), Some(PosixTz::WithRule), "{rules}");
        }
        let none = [
            "",
            "UTC",
            "Foo/Bar",
            "EU1",
            "JST-",
            "JST-9x",
            "JST-9:",
            "<+03-3",
            "<+>-3",
            "Etc/GMT+5",
            "/etc/localtime",
            "EST5,M3.2.0,M11.1.0",
            "CET-1CEST,M13.5.0,M10.5.0",
            "CET-1CEST,M3.5.0,M10.5.0,",
            "CET-1CEST,M3.5.0/2x,M10.5.0",
            "Ä-1",
            "JST-٣",
        ];
        for text in none {
            assert_eq!(posix_tz(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_are_read_as_scanf_does() {
        assert_eq!(TzString::parse(b"ABC- 5").offsets[0], 18_000);
        assert_eq!(TzString::parse(b"ABC+65537").offsets[0], -3_600);
        assert_eq!(TzString::parse(b"ABC5:").offsets[0], -18_000);
        assert_eq!(TzString::parse(b"ABC99:99:99").offsets[0], -(24 * 3600 + 59 * 60 + 59));
    }
}
