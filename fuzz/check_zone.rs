//! What the fuzz targets `tzif` and `posix_tz`, and an ordinary test, call on every zone: nothing may panic, and a range is
//! around its moment.

use needless_localtime::Zone;

/// Asks about the first and last moments, usual years, and moments read from the input itself.
pub(crate) fn check_zone(zone: &Zone, input: &[u8]) {
    let usual = [
        i64::MIN,
        i64::MAX - 1,
        0,
        1 << 40,
        -1 << 40,
        1 << 55,
        -1 << 55,
        951_782_400,
        4_107_542_400,
    ];
    let from_input = input
        .chunks_exact(8)
        .take(64)
        .map(|eight| i64::from_be_bytes(eight.try_into().unwrap_or_default()));
    let from_input = from_input.flat_map(|t| [t.saturating_sub(1), t >> 24]);
    for t in usual.into_iter().chain(from_input) {
        let _ = zone.is_by_rules(t);
        let at = zone.type_at(t);
        if let Some((kind, around)) = zone.type_around(t) {
            assert!(around.contains(&t) && at == Some(kind));
        }
    }
}
