//! The definitions of shared.rs in Rust.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

macro_rules! shared {
    () => {};
    ($(#[$doc:meta])* const $name:ident: $type:ty = $value:literal; $($rest:tt)*) => {
        $(#[$doc])*
        pub(crate) const $name: $type = $value;
        shared! { $($rest)* }
    };
    ($(#[$doc:meta])* enum $name:ident { $($member:ident),* } $($rest:tt)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        #[repr(u8)]
        pub(crate) enum $name { $($member),* }
        shared! { $($rest)* }
    };
    (
        $(#[$doc:meta])*
        struct $name:ident { $($(#[$about:meta])* $field:ident: $type:ty,)* }
        $($rest:tt)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        // Without a gap: what IntoBytes derives does not compile otherwise.
        #[derive(FromBytes, IntoBytes, KnownLayout, Immutable)]
        #[repr(C)]
        #[allow(dead_code, reason = "some fields are read in the kernel only")]
        pub(crate) struct $name { $($(#[$about])* pub(crate) $field: $type,)* }
        shared! { $($rest)* }
    };
}

include!("../shared.rs");
