//! What the fuzz targets `tzif` and `posix_tz`, and an ordinary test, call on every zone: nothing may panic.

use needless_localtime::Zone;

/// Converts the first and last moments, usual years, and moments read from the input itself.
pub(crate) fn check_zone(zone: &Zone, input: &[u8]) {
    let _ = zone.globals_at(None);
    let usual =
        [i64::MIN, i64::MAX, 0, 1 << 40, -1 << 40, 1 << 55, -1 << 55, 951_782_400, 4_107_542_400];
    let from_input = input
        .chunks_exact(8)
        .take(64)
        .map(|eight| i64::from_be_bytes(eight.try_into().unwrap_or_default()));
    let from_input = from_input.flat_map(|t| [t, t.wrapping_sub(1), t >> 24]);
    for t in usual.into_iter().chain(from_input) {
        let _ = zone.globals_at(Some(t));
        if let Some(civil) = zone.gmtime(t) {
            let _ = zone.timegm(&civil);
        }
        let Some(local) = zone.local(t) else { continue };
        let of = local.civil;
        assert!((0..60).contains(&of.min) && (0..24).contains(&of.hour));
        assert!((1..32).contains(&of.mday) && (0..12).contains(&of.mon));
        assert!((0..7).contains(&of.wday) && (0..366).contains(&of.yday));
        for isdst in [-1, i32::from(local.isdst)] {
            let _ = zone.mktime(&of, isdst);
        }
    }
}
