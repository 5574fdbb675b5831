//! A TZ string that names a daylight saving time but has no rules, combined with the file `posixrules`.

use crate::posix::TzString;
use crate::tzif::{Tables, TypeRecord};

/// Replaces the types by the two of the string, and moves each transition from the file's wall clock to the
/// string's.
pub(crate) fn apply(tables: &mut Tables, posix: &TzString) {
    let used = tables.kinds.iter().rev().map(|&kind| &tables.types[usize::from(kind)]);
    let standard = used.clone().find(|of| !of.isdst).map_or(0, |of| of.offset);
    // The second is not the file's: glibc takes the string's, which is left over from the call before. (In a
    // process's first call it takes 0.)
    let old = [standard, posix.offsets[1]];
    let mut was_dst = false;
    for (time, kind) in tables.times.iter_mut().zip(&mut tables.kinds) {
        let TypeRecord { isdst, isstd, isut, .. } = tables.types[usize::from(*kind)];
        let clock = usize::from(was_dst && !isstd);
        if !isut {
            let moved = i64::from(posix.offsets[clock]) - i64::from(old[clock]);
            *time = time.wrapping_add(moved);
        }
        *kind = u8::from(isdst);
        was_dst = isdst;
    }
    let [standard, summer] = &posix.names;
    let of = |which: usize, name: usize| TypeRecord {
        offset: posix.offsets[which],
        isdst: which == 1,
        name: name as u8,
        isstd: false,
        isut: false,
    };
    tables.types = [of(0, 0), of(1, standard.len() + 1)].into();
    tables.names = [standard.as_slice(), b"\0", summer, b"\0"].concat();
}
