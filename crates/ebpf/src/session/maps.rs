//! The maps of the programs in the kernel, read and cleared.

use libbpf_rs::{ErrorKind, Map, MapCore, MapFlags, Object};
use zerocopy::{FromBytes, IntoBytes};

/// Key and value.
type Entry = (Vec<u8>, Vec<u8>);

/// The map with this name.
pub(super) fn map<'a>(object: &'a Object, name: &str) -> Map<'a> {
    object.maps().find(|map| map.name() == name).expect("a map of our own program")
}

/// The programs' variables.
pub(super) fn bss(object: &Object) -> Map<'_> {
    let found = object.maps().find(|map| map.name().to_string_lossy().ends_with(".bss"));
    found.expect("our program has variables")
}

/// The values of all CPUs in a per-CPU array.
pub(super) fn of_each_cpu<T: FromBytes>(map: &Map<'_>) -> Vec<T> {
    let each = |at: u32| map.lookup_percpu(at.as_bytes(), MapFlags::ANY).ok().flatten();
    (0..map.max_entries()).flat_map(|at| each(at).unwrap_or_default()).map(|v| typed(&v)).collect()
}

/// A key or value of one of our own maps.
pub(super) fn typed<T: FromBytes>(bytes: &[u8]) -> T {
    T::read_from_bytes(bytes).expect("the build script wrote its size into the program")
}

/// Two parts of a map.
type Parts<K, V> = (Vec<(K, V)>, Vec<(K, V)>);

/// Which entries are wanted besides those that are deleted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Others {
    Copied,
    LeftOut,
}

/// The entries of a map, which has about so many: those whose process `has_settled`, which are then deleted, and
/// the others, which stay.
pub(super) fn split<K: FromBytes, V: FromBytes>(
    map: &Map<'_>,
    about: u64,
    wanted: Others,
    has_settled: impl Fn(&K) -> bool,
) -> Parts<K, V> {
    let all = entries(map, about).into_iter();
    let (settled, mut others): (Vec<_>, Vec<_>) =
        all.partition(|(key, _)| has_settled(&typed(key)));
    let (deleted, left) = remove(map, settled);
    match wanted {
        Others::Copied => others.extend(left),
        Others::LeftOut => others.clear(),
    }
    let typed = |entries: Vec<Entry>| {
        entries.iter().map(|(key, value)| (typed(key), typed(value))).collect()
    };
    (typed(deleted), typed(others))
}

/// All that is in a map, read in one go: after a batch that was not filled, the iterator considers itself to be at the
/// end. Room for the largest map takes longer to clear than most maps to read, hence `about`; the kernel leaves out
/// what finds no room, a bucket at a time.
fn entries(map: &Map<'_>, about: u64) -> Vec<Entry> {
    let read = |room| {
        let batch = map.lookup_batch(room, MapFlags::ANY, MapFlags::ANY);
        batch.into_iter().flatten().collect::<Vec<Entry>>()
    };
    let most = map.max_entries();
    let room = u32::try_from(about.saturating_mul(2) + 1024).map_or(most, |room| room.min(most));
    let found = read(room);
    if room < most && found.len() > room as usize / 2 { read(most) } else { found }
}

/// Deletes entries. Returns the deleted ones, and those that are still there.
fn remove(map: &Map<'_>, entries: Vec<Entry>) -> (Vec<Entry>, Vec<Entry>) {
    let keys: Vec<u8> = entries.iter().flat_map(|(key, _)| key).copied().collect();
    let count = entries.len() as u32;
    if count == 0 || map.delete_batch(&keys, count, MapFlags::ANY, MapFlags::ANY).is_ok() {
        return (entries, Vec::new());
    }
    // One by one: the batch has deleted those that are missing now.
    entries.into_iter().partition(|(key, _)| match map.delete(key) {
        Ok(()) => true,
        Err(error) => error.kind() == ErrorKind::NotFound,
    })
}
