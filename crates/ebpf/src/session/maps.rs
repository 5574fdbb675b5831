//! Reading the maps of the programs in the kernel.

use libbpf_rs::{ErrorKind, Map, MapCore, MapFlags, Object};
use zerocopy::{FromBytes, Immutable, IntoBytes};

pub(super) fn map<'a>(object: &'a Object, name: &str) -> Map<'a> {
    object.maps().find(|map| map.name() == name).expect("a map of our own program")
}

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

/// Room for so many entries is made at first: at most 4 MB are copied of a map that is almost empty.
const FEW: u32 = 8192;

/// The entries of a map: copies of all, or only those whose process `has_settled`, which are then deleted.
pub(super) fn taken<K: FromBytes + IntoBytes + Immutable, V: FromBytes>(
    map: &Map<'_>,
    ended_only: bool,
    has_settled: impl Fn(&K) -> bool,
) -> Vec<(K, V)> {
    let mut room = FEW.min(map.max_entries());
    let mut entries = loop {
        let (mut read, mut entries) = (0, Vec::new());
        let all = map.lookup_batch(room, MapFlags::ANY, MapFlags::ANY);
        for (key, value) in all.into_iter().flatten() {
            read += 1;
            let key: K = typed(&key);
            if !ended_only || has_settled(&key) {
                entries.push((key, typed(&value)));
            }
        }
        // The kernel does not fill a batch where the next bucket does not fit, and the iterator then considers itself
        // to be at the end: it is there only if much room was left.
        if read <= room / 2 || room == map.max_entries() {
            break entries;
        }
        room = room.saturating_mul(4).min(map.max_entries());
    };
    if ended_only {
        remove(map, &mut entries);
    }
    entries
}

/// Deletes entries, and keeps the deleted ones.
fn remove<K: IntoBytes + Immutable, V>(map: &Map<'_>, entries: &mut Vec<(K, V)>) {
    let keys: Vec<u8> = entries.iter().flat_map(|(key, _)| key.as_bytes()).copied().collect();
    let count = entries.len() as u32;
    if count > 0 && map.delete_batch(&keys, count, MapFlags::ANY, MapFlags::ANY).is_err() {
        // One by one: the batch has deleted those that are missing now.
        entries.retain(|(key, _)| match map.delete(key.as_bytes()) {
            Ok(()) => true,
            Err(error) => error.kind() == ErrorKind::NotFound,
        });
    }
}
