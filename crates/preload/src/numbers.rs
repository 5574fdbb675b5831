//! The numbers of strftime(3): weeks, hours of a clock of twelve, digits.

use crate::imports::Tm;

/// "00" to "99"; as many more as make the index a mask.
static PAIRS: [[u8; 2]; 128] = {
    let mut pairs = [*b"??"; 128];
    let mut n = 0;
    while n < 100 {
        pairs[n] = [b'0' + (n / 10) as u8, b'0' + (n % 10) as u8];
        n += 1;
    }
    pairs
};

/// A number from 0 to 99 in two digits.
#[inline(always)]
pub(crate) fn two(n: i32) -> [u8; 2] {
    PAIRS[n as usize % 128]
}

/// As `two`, below 10 with a blank.
#[inline(always)]
pub(crate) fn blank(n: i32) -> [u8; 2] {
    let [tens, ones] = two(n);
    [if n < 10 { b' ' } else { tens }, ones]
}

/// Of the years from 1000 to 9999.
#[inline(always)]
pub(crate) fn four(year: i32) -> [u8; 4] {
    let ([c, d], [y, z]) = (two(year / 100), two(year % 100));
    [c, d, y, z]
}

/// The hour on a clock of twelve.
#[inline(always)]
pub(crate) fn twelve(tm: &Tm) -> i32 {
    (tm.hour + 11) % 12 + 1
}

/// Days since the week's Monday.
#[inline(always)]
pub(crate) fn since_monday(tm: &Tm) -> i32 {
    (tm.wday + 6) % 7
}

/// Year and week by ISO 8601: those of the Thursday of the same week.
pub(crate) fn iso_week(tm: &Tm) -> (i32, i32) {
    let year = tm.year + 1900;
    let days = |year: i32| 365 + i32::from(year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
    let thursday = tm.yday + 3 - since_monday(tm);
    if thursday < 0 {
        return (year - 1, (thursday + days(year - 1)) / 7 + 1);
    }
    if thursday >= days(year) {
        return (year + 1, (thursday - days(year)) / 7 + 1);
    }
    (year, thursday / 7 + 1)
}

/// What a conversion of a number prints.
pub(crate) struct Number {
    pub(crate) n: i32,
    pub(crate) places: Places,
}

/// How many digits a number has at least.
#[derive(Clone, Copy)]
pub(crate) enum Places {
    One,
    Two,
    /// Filled up with blanks.
    TwoOrBlank,
    Three,
    Four,
}

/// Of the conversions of numbers, `%G` and `%g` apart, whose years may have more digits than these.
pub(crate) fn number(conversion: u8, tm: &Tm) -> Option<Number> {
    let year = tm.year + 1900;
    let (n, places) = match conversion {
        b'm' => (tm.mon + 1, Places::Two),
        b'd' => (tm.mday, Places::Two),
        b'e' => (tm.mday, Places::TwoOrBlank),
        b'H' => (tm.hour, Places::Two),
        b'k' => (tm.hour, Places::TwoOrBlank),
        b'I' => (twelve(tm), Places::Two),
        b'l' => (twelve(tm), Places::TwoOrBlank),
        b'M' => (tm.min, Places::Two),
        b'S' => (tm.sec, Places::Two),
        b'j' => (tm.yday + 1, Places::Three),
        b'y' => (year % 100, Places::Two),
        b'C' => (year / 100, Places::Two),
        b'Y' => (year, Places::Four),
        b'U' => ((tm.yday + 7 - tm.wday) / 7, Places::Two),
        b'W' => ((tm.yday + 7 - since_monday(tm)) / 7, Places::Two),
        b'V' => (iso_week(tm).1, Places::Two),
        b'u' => (since_monday(tm) + 1, Places::One),
        b'w' => (tm.wday, Places::One),
        _ => return None,
    };
    Some(Number { n, places })
}
