//! A text with daylight saving time but no rules, laid over the file `posixrules`.

use crate::posix::Posix;
use crate::tzif::{Tables, Type};

/// Makes the tables those of the text: its two types only, and each transition moved from the file's
/// wall clock to the text's.
pub(crate) fn impose(tables: &mut Tables, posix: &Posix) {
    let used = tables.kinds.iter().rev().map(|&kind| &tables.types[usize::from(kind)]);
    let standard = used.clone().find(|of| !of.isdst).map_or(0, |of| of.offset);
    // Not the file's: glibc keeps the text's own from the last time it did this, and it does it in
    // every call. (The very first time in a process it takes 0.)
    let old = [standard, posix.offsets[1]];
    let mut was_dst = false;
    for (time, kind) in tables.times.iter_mut().zip(&mut tables.kinds) {
        let Type { isdst, isstd, isut, .. } = tables.types[usize::from(*kind)];
        let clock = usize::from(was_dst && !isstd);
        if !isut {
            let moved = i64::from(posix.offsets[clock]) - i64::from(old[clock]);
            *time = time.wrapping_add(moved);
        }
        *kind = u8::from(isdst);
        was_dst = isdst;
    }
    let [standard, summer] = &posix.names;
    let of = |which: usize, name: usize| Type {
        offset: posix.offsets[which],
        isdst: which == 1,
        name: name as u8,
        isstd: false,
        isut: false,
    };
    tables.types = [of(0, 0), of(1, standard.len() + 1)].into();
    tables.names = [standard.as_slice(), b"\0", summer, b"\0"].concat();
}
