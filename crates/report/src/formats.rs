//! How the lists of formats in `lib.rs` become enums and functions.

/// Declares the formats of documents: for each its name, which is also that of its file, and the ending of files
/// that are written in it by default. Then, for each document, the function that writes it and its folder.
macro_rules! formats {
    (
        $(#[$about:meta])* $Format:ident $formats:tt
        $($(#[$does:meta])* $write:ident in $folder:ident ($($arg:ident: $type:ty),+);)+
    ) => {
        formats!(@names $(#[$about])* $Format $formats);
        $(formats!(@write $Format $formats $(#[$does])* $write in $folder ($($arg: $type),+));)+
    };
    (
        @names $(#[$about:meta])* $Format:ident
        { $($(#[$doc:meta])* $format:ident: $file:ident $(, $ending:literal)?;)+ }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $Format {
            $($(#[$doc])* $format),+
        }

        impl $Format {
            /// The endings of files that select a format.
            pub const ENDINGS: &[&str] = &[$($($ending,)?)+];

            /// The format that the ending of a file selects, if one does.
            pub fn of_path(path: &Path) -> Option<$Format> {
                match path.extension()?.to_str()? {
                    $($($ending => Some($Format::$format),)?)+
                    _ => None,
                }
            }
        }

        impl FromStr for $Format {
            type Err = String;

            /// # Errors
            /// When there is no format of this name; the message lists the names.
            fn from_str(name: &str) -> Result<$Format, String> {
                match name {
                    $(stringify!($file) => Ok($Format::$format),)+
                    _ => {
                        let names = [$(stringify!($file)),+];
                        Err(format!("no such format; there are {}", text::list(&names)))
                    }
                }
            }
        }
    };
    (
        @write $Format:ident
        { $($(#[$doc:meta])* $format:ident: $file:ident $(, $ending:literal)?;)+ }
        $(#[$does:meta])* $write:ident in $folder:ident ($($arg:ident: $type:ty),+)
    ) => {
        mod $folder {
            $(pub(crate) mod $file;)+
        }

        $(#[$does])*
        ///
        /// Ends with a newline. The same document gives the same bytes.
        ///
        /// # Errors
        /// When `out` cannot be written to.
        pub fn $write(
            out: &mut dyn Write,
            $($arg: $type,)+
            format: $Format,
            style: Style,
        ) -> io::Result<()> {
            let write: fn(&mut dyn Write, $($type,)+ Style) -> io::Result<()> = match format {
                $($Format::$format => $folder::$file::write),+
            };
            write(out, $($arg,)+ style)
        }
    };
}

#[cfg(test)]
mod tests {
    use crate::{ProofFormat, ReportFormat, RulesFormat};
    use std::path::Path;

    #[test]
    fn endings_select_formats() {
        let of = |path| ReportFormat::of_path(Path::new(path));
        assert_eq!(of("/x/report.json"), Some(ReportFormat::Json));
        assert_eq!(of("report.txt"), Some(ReportFormat::Full));
        assert_eq!(of("report"), None);
        assert_eq!(of(".json"), None);
        assert_eq!(ProofFormat::of_path(Path::new("a.md")), Some(ProofFormat::Markdown));
    }

    #[test]
    fn formats_have_names() {
        assert_eq!("json".parse(), Ok(ReportFormat::Json));
        assert_eq!("full".parse(), Ok(ReportFormat::Full));
        assert_eq!("concise".parse(), Ok(ReportFormat::Concise));
        let names = |error: String| error.replace("no such format; there are ", "");
        assert_eq!(
            names("nothing".parse::<ReportFormat>().unwrap_err()),
            "full, concise, json, profile, sarif and github"
        );
        assert_eq!(names("profile".parse::<ProofFormat>().unwrap_err()), "full, markdown and json");
        assert_eq!(names("concise".parse::<RulesFormat>().unwrap_err()), "full and json");
    }
}
