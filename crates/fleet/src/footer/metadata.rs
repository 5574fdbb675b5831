//! The structure in the footer of a file.

use super::walk::{Value, Visitor};
use super::{MARK, SCHEMA_KEY, Unsound};

/// Columns. An agent writes 19; a newer one may write more.
const MOST_COLUMNS: usize = 64;
/// Groups of rows. A part has one for half a million rows, until it is of 128 MiB.
const MOST_GROUPS: usize = 512;
/// Elements of all lists together, each of which costs a reader some memory.
const MOST_ELEMENTS: usize = 1 << 18;
/// Types in the form of Arrow, which programs that use it write into a footer. Agents do not.
const TYPES_OF_ARROW: &[u8] = b"ARROW:schema";
/// A column is there in each row, or may be missing in some; it is not there several times.
const REQUIRED_OR_OPTIONAL: std::ops::RangeInclusive<i64> = 0..=1;

/// A column of a group of rows: its pages. Numbers that were not there are -1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    pub(super) codec: i64,
    pub(super) values: i64,
    pub(super) bytes: i64,
    data: i64,
    dictionary: Option<i64>,
}

impl Chunk {
    const NONE: Chunk = Chunk { codec: -1, values: -1, bytes: -1, data: -1, dictionary: None };

    /// Where its first page begins: the dictionary, where there is one.
    pub(super) fn start(&self) -> i64 {
        self.dictionary.unwrap_or(self.data)
    }
}

/// A node of the schema.
#[derive(Default)]
struct Node {
    has_type: bool,
    repetition: i64,
    children: i64,
}

/// What was seen of the footer so far.
pub(super) struct Metadata<'a> {
    /// Where the pages end and the footer begins.
    data_end: i64,
    nodes: usize,
    nodes_seen: usize,
    node: Node,
    rows: i64,
    rows_of_groups: i64,
    group_rows: i64,
    group_start: usize,
    chunks: Vec<Chunk>,
    elements: usize,
    key: &'a [u8],
    text: &'a [u8],
    schema: Option<&'a [u8]>,
}

impl Metadata<'_> {
    pub(super) fn new(data_end: u64) -> Self {
        Metadata {
            data_end: i64::try_from(data_end).unwrap_or(i64::MAX),
            nodes: 0,
            nodes_seen: 0,
            node: Node::default(),
            rows: -1,
            rows_of_groups: 0,
            group_rows: -1,
            group_start: 0,
            chunks: Vec::new(),
            elements: 0,
            key: &[],
            text: &[],
            schema: None,
        }
    }

    /// The version of the columns, how many rows there are, and the columns of all groups.
    pub(super) fn finish(self) -> Result<(Option<String>, u64, Vec<Chunk>), Unsound> {
        let rows = u64::try_from(self.rows).ok().filter(|_| self.rows == self.rows_of_groups);
        let rows = rows.ok_or(Unsound("the rows of its groups are not all its rows"))?;
        if self.nodes < 2 {
            return Err(Unsound("it has no columns"));
        }
        // Where columns overlap, a short file is a long way to read.
        let bytes: i64 = self.chunks.iter().fold(0, |sum, chunk| sum.saturating_add(chunk.bytes));
        if bytes > self.data_end {
            return Err(Unsound("its columns are longer than the file"));
        }
        let schema = self.schema.map(|text| String::from_utf8_lossy(text).into_owned());
        Ok((schema, rows, self.chunks))
    }

    /// The first node is the table, the others are its columns.
    fn node_ends(&mut self) -> Result<(), Unsound> {
        let node = std::mem::take(&mut self.node);
        self.nodes_seen += 1;
        let columns = self.nodes as i64 - 1;
        let fits = match self.nodes_seen {
            1 => !node.has_type && node.children == columns,
            _ => {
                node.has_type
                    && node.children == 0
                    && REQUIRED_OR_OPTIONAL.contains(&node.repetition)
            }
        };
        if fits { Ok(()) } else { Err(Unsound("its columns are not those of a flat table")) }
    }

    fn chunk_ends(&self) -> Result<(), Unsound> {
        let chunk = self.chunks.last().unwrap_or(&Chunk::NONE);
        let (start, end) = (chunk.start(), chunk.start().checked_add(chunk.bytes));
        let is_within = start >= MARK.len() as i64 && end.is_some_and(|end| end <= self.data_end);
        if !is_within || chunk.bytes < 0 {
            return Err(Unsound("a column is not within the file"));
        }
        Ok(())
    }

    fn group_ends(&mut self) -> Result<(), Unsound> {
        let chunks = &self.chunks[self.group_start..];
        if self.group_rows < 0
            || chunks.len() + 1 != self.nodes
            || chunks.iter().any(|chunk| chunk.values != self.group_rows)
        {
            return Err(Unsound("a group of rows does not have each column of each row"));
        }
        self.rows_of_groups = self.rows_of_groups.saturating_add(self.group_rows);
        Ok(())
    }

    fn fact_ends(&mut self) -> Result<(), Unsound> {
        if self.key == TYPES_OF_ARROW {
            return Err(Unsound("its types are written for Arrow, which no agent does"));
        }
        if self.key == SCHEMA_KEY.as_bytes() && self.schema.is_none() {
            self.schema = Some(self.text);
        }
        (self.key, self.text) = (&[], &[]);
        Ok(())
    }

    fn list(&mut self, path: &[i16], length: usize) -> Result<(), Unsound> {
        self.elements = self.elements.saturating_add(length);
        let most = match path {
            [2] => {
                self.nodes = length;
                MOST_COLUMNS + 1
            }
            [4] => MOST_GROUPS,
            _ => MOST_ELEMENTS,
        };
        if length > most || self.elements > MOST_ELEMENTS {
            return Err(Unsound("its footer has more columns, groups or values than agents write"));
        }
        Ok(())
    }
}

/// The paths are of the numbers in `grammar.rs`.
impl<'a> Visitor<'a> for Metadata<'a> {
    fn see(&mut self, path: &[i16], value: Value<'a>) -> Result<(), Unsound> {
        use Value::{Begin, End, List, Number, Text};
        match (path, value) {
            (path, List(length)) => return self.list(path, length),
            ([2, 1], Number(_)) => self.node.has_type = true,
            ([2, 3], Number(repetition)) => self.node.repetition = repetition,
            ([2, 5], Number(children)) => self.node.children = children,
            ([2], End) => return self.node_ends(),
            ([3], Number(rows)) => self.rows = rows,
            ([4], Begin) => (self.group_rows, self.group_start) = (-1, self.chunks.len()),
            ([4, 1], Begin) => self.chunks.push(Chunk::NONE),
            ([4, 1, 3, id], Number(number)) => {
                let Some(chunk) = self.chunks.last_mut() else { return Ok(()) };
                match id {
                    4 => chunk.codec = number,
                    5 => chunk.values = number,
                    7 => chunk.bytes = number,
                    9 => chunk.data = number,
                    11 => chunk.dictionary = Some(number),
                    _ => {}
                }
            }
            ([4, 1], End) => return self.chunk_ends(),
            ([4, 3], Number(rows)) => self.group_rows = rows,
            ([4], End) => return self.group_ends(),
            ([5, 1], Text(key)) => self.key = key,
            ([5, 2], Text(text)) => self.text = text,
            ([5], End) => return self.fact_ends(),
            ([4, 1, 1], _) => return Err(Unsound("a column is in another file")),
            ([8 | 9] | [4, 1, 8 | 9], _) => return Err(Unsound("it is encrypted")),
            _ => {}
        }
        Ok(())
    }
}
