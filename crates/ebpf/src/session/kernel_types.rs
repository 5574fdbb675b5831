//! The few types of the running kernel that the programs refer to, in BTF: libbpf looks through all 126,000 of them for
//! each structure in turn, which is a quarter of the time that loading takes.
//!
//! The format is that of the kernel's Documentation/bpf/btf.rst.

use rustix::fs::{MemfdFlags, memfd_create};
use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

include!(concat!(env!("OUT_DIR"), "/kernel_types.rs"));

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Header {
    magic: u16,
    version: u8,
    flags: u8,
    length: u32,
    types_at: u32,
    types_length: u32,
    names_at: u32,
    names_length: u32,
}

const MAGIC: u16 = 0xeb9f;

/// A type: what all kinds begin with.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Start {
    name: u32,
    info: u32,
    /// The type that it refers to, or its size in bytes.
    of: u32,
}

const POINTER: u32 = 2;
const ARRAY: u32 = 3;
const STRUCTURE: u32 = 4;
const UNION: u32 = 5;
const ENUMERATION: u32 = 6;

impl Start {
    fn kind(self) -> u32 {
        self.info >> 24 & 31
    }

    /// What follows: how many words of each item, and which of them is a name, a type.
    fn rest(self) -> Option<(usize, &'static [What])> {
        use What::{Name, Number, Type};
        let items = (self.info & 0xffff) as usize;
        Some(match self.kind() {
            2 | 7 | 8..=12 | 16 | 18 => (0, &[]),
            1 | 14 | 17 => (1, &[Number]),
            ARRAY => (1, &[Type, Type, Number]),
            STRUCTURE | UNION => (items, &[Name, Type, Number]),
            ENUMERATION => (items, &[Name, Number]),
            13 => (items, &[Name, Type]),
            15 => (items, &[Type, Number, Number]),
            19 => (items, &[Name, Number, Number]),
            _ => return None,
        })
    }

    /// Whether `of` is a type.
    fn refers(self) -> bool {
        matches!(self.kind(), 8..=12 | 18)
    }
}

#[derive(Clone, Copy)]
enum What {
    Name,
    Type,
    Number,
}

/// All types of a kernel.
struct Types<'b> {
    types: &'b [u8],
    names: &'b [u8],
    /// Where each begins; that of `void` is not used.
    at: Vec<u32>,
}

impl<'b> Types<'b> {
    fn parse(btf: &'b [u8]) -> Option<Types<'b>> {
        let (header, _) = Header::read_from_prefix(btf).ok()?;
        let body = btf.get(header.length as usize..).filter(|_| header.magic == MAGIC)?;
        let part = |at: u32, length: u32| body.get(at as usize..)?.get(..length as usize);
        let types = part(header.types_at, header.types_length)?;
        let names = part(header.names_at, header.names_length)?;
        let mut at = vec![0];
        let mut next = 0;
        while next < types.len() {
            at.push(next as u32);
            let (start, _) = Start::read_from_prefix(&types[next..]).ok()?;
            let (items, words) = start.rest()?;
            next += size_of::<Start>() + items * words.len() * 4;
        }
        (next == types.len()).then_some(Types { types, names, at })
    }

    fn start(&self, id: u32) -> Option<Start> {
        let at = *self.at.get(id as usize)? as usize;
        Some(Start::read_from_prefix(self.types.get(at..)?).ok()?.0)
    }

    fn name(&self, at: u32) -> Option<&'b [u8]> {
        let name = self.names.get(at as usize..)?;
        name.split(|byte| *byte == 0).next()
    }
}

/// A subset of types that is being written.
struct Subset<'b> {
    all: Types<'b>,
    /// The numbers that types get, and in which order they are written.
    numbers: HashMap<u32, u32>,
    wanted: Vec<u32>,
    names: Vec<u8>,
}

impl Subset<'_> {
    fn number(&mut self, id: u32) -> u32 {
        if id == 0 {
            return 0;
        }
        *self.numbers.entry(id).or_insert_with(|| {
            self.wanted.push(id);
            self.wanted.len() as u32
        })
    }

    fn name(&mut self, at: u32) -> Option<u32> {
        if at == 0 {
            return Some(0);
        }
        let new = self.names.len() as u32;
        self.names.extend(self.all.name(at)?);
        self.names.push(0);
        Some(new)
    }

    /// Writes the types that are wanted, with all that they hold. What a pointer points to is not needed: `void`.
    fn write(mut self) -> Option<Vec<u8>> {
        let mut types: Vec<u8> = Vec::new();
        let mut next = 0;
        while let Some(id) = self.wanted.get(next).copied() {
            next += 1;
            let mut start = self.all.start(id)?;
            let (items, words) = start.rest()?;
            start.name = self.name(start.name)?;
            if start.kind() == POINTER {
                start.of = 0;
            } else if start.refers() {
                start.of = self.number(start.of);
            }
            types.extend(start.as_bytes());
            let mut at = self.all.at[id as usize] as usize + size_of::<Start>();
            for what in (0..items).flat_map(|_| words) {
                let (word, _) = u32::read_from_prefix(&self.all.types[at..]).ok()?;
                at += 4;
                let word = match what {
                    What::Name => self.name(word)?,
                    What::Type => self.number(word),
                    What::Number => word,
                };
                types.extend(word.to_ne_bytes());
            }
        }
        let header = Header {
            magic: MAGIC,
            version: 1,
            flags: 0,
            length: size_of::<Header>() as u32,
            types_at: 0,
            types_length: types.len() as u32,
            names_at: types.len() as u32,
            names_length: self.names.len() as u32,
        };
        Some([header.as_bytes(), &types, &self.names].concat())
    }
}

/// The types named [`KERNEL_TYPES`], and what they hold, as BTF.
fn subset(btf: &[u8]) -> Option<Vec<u8>> {
    let all = Types::parse(btf)?;
    let mut first = [false; 256];
    for name in KERNEL_TYPES {
        first[name.as_bytes()[0] as usize] = true;
    }
    let mut wanted = Vec::new();
    for id in 1..all.at.len() as u32 {
        let start = all.start(id)?;
        let is_first = |at: u32| first[*all.names.get(at as usize).unwrap_or(&0) as usize];
        let named = matches!(start.kind(), STRUCTURE | ENUMERATION) && is_first(start.name);
        if named
            && all.name(start.name).is_some_and(|n| KERNEL_TYPES.iter().any(|k| k.as_bytes() == n))
        {
            wanted.push(id);
        }
    }
    let mut subset = Subset { all, numbers: HashMap::new(), wanted: Vec::new(), names: vec![0] };
    for id in wanted {
        subset.number(id);
    }
    subset.write()
}

/// The same of the running kernel, in a file that is gone when it is dropped. `None`: libbpf has to look through all.
pub(super) fn file() -> Option<(File, String)> {
    let small = subset(&std::fs::read("/sys/kernel/btf/vmlinux").ok()?)?;
    let mut file = File::from(memfd_create("needless-types", MemfdFlags::CLOEXEC).ok()?);
    file.write_all(&small).ok()?;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    std::path::Path::new(&path).exists().then_some((file, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name, and where its member is, in bits.
    type Member = (Vec<u8>, u32);

    /// The members of each structure with one of the names.
    fn members(btf: &[u8]) -> Vec<(Vec<u8>, Vec<Member>)> {
        let types = Types::parse(btf).unwrap();
        let name = |at| types.name(at).unwrap().to_vec();
        let mut found = Vec::new();
        for id in 1..types.at.len() as u32 {
            let start = types.start(id).unwrap();
            if start.kind() != STRUCTURE
                || !KERNEL_TYPES.iter().any(|known| known.as_bytes() == name(start.name))
            {
                continue;
            }
            let at = types.at[id as usize] as usize + size_of::<Start>();
            let items = (start.info & 0xffff) as usize;
            let words: Vec<u32> = types.types[at..at + 12 * items]
                .chunks_exact(4)
                .map(|word| u32::from_ne_bytes(word.try_into().unwrap()))
                .collect();
            let members = words.chunks_exact(3).map(|member| (name(member[0]), member[2]));
            found.push((name(start.name), members.collect()));
        }
        found.sort();
        found
    }

    #[test]
    fn the_subset_has_the_same_structures() {
        let Ok(all) = std::fs::read("/sys/kernel/btf/vmlinux") else {
            return needless_fixtures::skipped("this kernel does not describe its types");
        };
        let small = subset(&all).unwrap();
        assert!(small.len() * 10 < all.len(), "{} of {} bytes", small.len(), all.len());
        assert!(members(&all).iter().any(|(name, of)| name == b"task_struct" && of.len() > 50));
        assert_eq!(members(&all), members(&small));
    }

    #[test]
    fn what_is_no_description_of_types_is_left() {
        assert!(subset(b"").is_none());
        assert!(subset(&[0; 100]).is_none());
        let mut header = Header {
            magic: MAGIC,
            version: 1,
            flags: 0,
            length: 24,
            types_at: 0,
            types_length: 12,
            names_at: 12,
            names_length: 1,
        };
        let unknown = Start { name: 0, info: 31 << 24, of: 0 };
        let btf = |header: Header| [header.as_bytes(), unknown.as_bytes(), &[0]].concat();
        assert!(subset(&btf(header)).is_none());
        header.types_length = 1000;
        assert!(subset(&btf(header)).is_none());
    }
}
