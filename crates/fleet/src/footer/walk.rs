//! Goes through a structure as its grammar has it, and shows each value to a visitor with the numbers of the fields that
//! lead to it. Nothing is stored, and how deep it goes is bounded.

use super::Unsound;
use super::compact::{Compact, wire};
use super::grammar::Kind;

/// A value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value<'a> {
    Number(i64),
    Text(&'a [u8]),
    /// A list begins; so many elements follow, each with the list's own path.
    List(usize),
    /// A structure begins, or an element of a list of structures.
    Begin,
    /// It ends.
    End,
}

/// Which fields lead to a value, the outermost first.
struct Path {
    ids: [i16; DEEPEST],
    depth: usize,
}

/// Parquet's structures are at most seven deep.
const DEEPEST: usize = 12;

pub(super) trait Visitor<'a> {
    /// Looks at a value; an error ends the walk.
    fn see(&mut self, path: &[i16], value: Value<'a>) -> Result<(), Unsound>;
}

/// Goes through one structure of this kind, which begins where `bytes` stands.
pub(super) fn walk<'a>(
    bytes: &mut Compact<'a>,
    kind: &'static Kind,
    visitor: &mut impl Visitor<'a>,
) -> Result<(), Unsound> {
    let mut path = Path { ids: [0; DEEPEST], depth: 0 };
    value(bytes, wire::STRUCT, Some(kind), &mut path, visitor)
}

fn value<'a>(
    bytes: &mut Compact<'a>,
    of: u8,
    kind: Option<&'static Kind>,
    path: &mut Path,
    visitor: &mut impl Visitor<'a>,
) -> Result<(), Unsound> {
    if kind.is_some_and(|kind| !is_of(kind, of)) {
        return Err(Unsound("a field has another type than the format says"));
    }
    let found = match of {
        wire::TRUE => Value::Number(1),
        wire::FALSE => Value::Number(0),
        wire::BYTE => Value::Number(i64::from(bytes.take(1)?[0])),
        wire::I16 => Value::Number(bytes.signed(i16::MIN.into(), i16::MAX.into())?),
        wire::I32 => Value::Number(bytes.signed(i32::MIN.into(), i32::MAX.into())?),
        wire::I64 => Value::Number(bytes.signed(i64::MIN, i64::MAX)?),
        wire::DOUBLE => Value::Text(bytes.take(8)?),
        wire::BINARY => Value::Text(bytes.binary()?),
        wire::LIST | wire::SET => return list(bytes, kind, path, visitor),
        wire::STRUCT => return fields(bytes, kind, path, visitor),
        // Parquet has no map, and the others are no types.
        _ => return Err(Unsound("a field has a type that the format does not use")),
    };
    visitor.see(&path.ids[..path.depth], found)
}

fn list<'a>(
    bytes: &mut Compact<'a>,
    kind: Option<&'static Kind>,
    path: &mut Path,
    visitor: &mut impl Visitor<'a>,
) -> Result<(), Unsound> {
    let (of, length) = bytes.list()?;
    // Readers do not agree about how many bytes a truth value in a list has; no list here has one.
    if of == wire::TRUE || of == wire::FALSE {
        return Err(Unsound("a list has elements of a type that the format does not use"));
    }
    visitor.see(&path.ids[..path.depth], Value::List(length))?;
    let kind = match kind {
        Some(Kind::List(elements)) => Some(*elements),
        _ => None,
    };
    // An element has no number. A list in a list takes a place in the path nevertheless, so that it is not too deep.
    let is_list = of == wire::LIST || of == wire::SET;
    if is_list {
        deeper(path, 0)?;
    }
    for _ in 0..length {
        value(bytes, of, kind, path, visitor)?;
    }
    path.depth -= usize::from(is_list);
    Ok(())
}

fn fields<'a>(
    bytes: &mut Compact<'a>,
    kind: Option<&'static Kind>,
    path: &mut Path,
    visitor: &mut impl Visitor<'a>,
) -> Result<(), Unsound> {
    visitor.see(&path.ids[..path.depth], Value::Begin)?;
    let known = match kind {
        Some(Kind::Struct(fields)) => *fields,
        _ => &[],
    };
    let mut last = 0;
    while let Some((of, id)) = bytes.field(last)? {
        let kind = known.iter().find(|(known, _)| *known == id).map(|(_, kind)| kind);
        deeper(path, id)?;
        value(bytes, of, kind, path, visitor)?;
        path.depth -= 1;
        last = id;
    }
    visitor.see(&path.ids[..path.depth], Value::End)
}

fn deeper(path: &mut Path, id: i16) -> Result<(), Unsound> {
    let place = path.ids.get_mut(path.depth).ok_or(Unsound("structures are nested too deep"))?;
    *place = id;
    path.depth += 1;
    Ok(())
}

fn is_of(kind: &Kind, of: u8) -> bool {
    match kind {
        Kind::Bool => of == wire::TRUE || of == wire::FALSE,
        Kind::Byte => of == wire::BYTE,
        Kind::I16 => of == wire::I16,
        Kind::I32 => of == wire::I32,
        Kind::I64 => of == wire::I64,
        Kind::Double => of == wire::DOUBLE,
        Kind::Binary => of == wire::BINARY,
        Kind::List(_) => of == wire::LIST,
        Kind::Struct(_) => of == wire::STRUCT,
    }
}
