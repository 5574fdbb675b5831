//! Which fields the structures of a Parquet file have, and their types. The `parquet` crate does not look at the type that
//! a field says it has; so each field that it knows must have the right one, or the two would read different files.
//! Source: [parquet.thrift](https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift).

/// A type; a structure has its fields, each with its number. A field that is not listed may have any type.
#[derive(Debug)]
pub(super) enum Kind {
    Bool,
    Byte,
    I16,
    I32,
    I64,
    Double,
    Binary,
    List(&'static Kind),
    Struct(&'static [(i16, Kind)]),
}

use Kind::{Binary, Bool, Byte, Double, I16, I32, I64, List, Struct};

/// A structure whose being there says it all.
const EMPTY: Kind = Struct(&[]);

const STATISTICS: Kind = Struct(&[
    (1, Binary),
    (2, Binary),
    (3, I64),
    (4, I64),
    (5, Binary),
    (6, Binary),
    (7, Bool),
    (8, Bool),
]);

const UNIT: Kind = Struct(&[(1, EMPTY), (2, EMPTY), (3, EMPTY)]);
const TIME: Kind = Struct(&[(1, Bool), (2, UNIT)]);
const LOGICAL_TYPE: Kind = Struct(&[
    (1, EMPTY),
    (2, EMPTY),
    (3, EMPTY),
    (4, EMPTY),
    (5, Struct(&[(1, I32), (2, I32)])),
    (6, EMPTY),
    (7, TIME),
    (8, TIME),
    (10, Struct(&[(1, Byte), (2, Bool)])),
    (11, EMPTY),
    (12, EMPTY),
    (13, EMPTY),
    (14, EMPTY),
    (15, EMPTY),
    (16, Struct(&[(1, Byte)])),
    (17, Struct(&[(1, Binary)])),
    (18, Struct(&[(1, Binary), (2, I32)])),
]);

const SCHEMA_ELEMENT: Kind = Struct(&[
    (1, I32),
    (2, I32),
    (3, I32),
    (4, Binary),
    (5, I32),
    (6, I32),
    (7, I32),
    (8, I32),
    (9, I32),
    (10, LOGICAL_TYPE),
]);

const KEY_VALUE: Kind = Struct(&[(1, Binary), (2, Binary)]);

const GEOSPATIAL: Kind = Struct(&[
    (
        1,
        Struct(&[
            (1, Double),
            (2, Double),
            (3, Double),
            (4, Double),
            (5, Double),
            (6, Double),
            (7, Double),
            (8, Double),
        ]),
    ),
    (2, List(&I32)),
]);

const COLUMN_META: Kind = Struct(&[
    (1, I32),
    (2, List(&I32)),
    (3, List(&Binary)),
    (4, I32),
    (5, I64),
    (6, I64),
    (7, I64),
    (8, List(&KEY_VALUE)),
    (9, I64),
    (10, I64),
    (11, I64),
    (12, STATISTICS),
    (13, List(&Struct(&[(1, I32), (2, I32), (3, I32)]))),
    (14, I64),
    (15, I32),
    (16, Struct(&[(1, I64), (2, List(&I64)), (3, List(&I64))])),
    (17, GEOSPATIAL),
]);

const COLUMN_CHUNK: Kind = Struct(&[
    (1, Binary),
    (2, I64),
    (3, COLUMN_META),
    (4, I64),
    (5, I32),
    (6, I64),
    (7, I32),
    (8, EMPTY),
    (9, Binary),
]);

const ROW_GROUP: Kind = Struct(&[
    (1, List(&COLUMN_CHUNK)),
    (2, I64),
    (3, I64),
    (4, List(&Struct(&[(1, I32), (2, Bool), (3, Bool)]))),
    (5, I64),
    (6, I64),
    (7, I16),
]);

/// What a footer is.
pub(super) const FILE_META: Kind = Struct(&[
    (1, I32),
    (2, List(&SCHEMA_ELEMENT)),
    (3, I64),
    (4, List(&ROW_GROUP)),
    (5, List(&KEY_VALUE)),
    (6, Binary),
    (7, List(&Struct(&[(1, EMPTY), (2, EMPTY)]))),
    (8, EMPTY),
    (9, Binary),
]);

/// What is in front of each page.
pub(super) const PAGE_HEADER: Kind = Struct(&[
    (1, I32),
    (2, I32),
    (3, I32),
    (4, I32),
    (5, Struct(&[(1, I32), (2, I32), (3, I32), (4, I32), (5, STATISTICS)])),
    (6, EMPTY),
    (7, Struct(&[(1, I32), (2, I32), (3, Bool)])),
    (
        8,
        Struct(&[
            (1, I32),
            (2, I32),
            (3, I32),
            (4, I32),
            (5, I32),
            (6, I32),
            (7, Bool),
            (8, STATISTICS),
        ]),
    ),
]);
