//! Enums whose variants each have one text.

/// Declares an enum, the array of all its variants in that order, and a method that returns the text of one.
macro_rules! words {
    (
        $(#[$about:meta])*
        pub enum $Name:ident {
            $($(#[$doc:meta])* $variant:ident = $text:literal,)+
        }
        $(#[$does:meta])*
        pub fn $method:ident(self);
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $Name {
            $($(#[$doc])* $variant,)+
        }

        impl $Name {
            /// All, in declaration order.
            pub const ALL: [$Name; [$($Name::$variant),+].len()] = [$($Name::$variant),+];

            $(#[$does])*
            pub fn $method(self) -> &'static str {
                match self {
                    $($Name::$variant => $text,)+
                }
            }
        }
    };
}
