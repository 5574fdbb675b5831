//! What is known of variables that list directories, and the remedy of such a list: the variable without some entries.

use needless_model::{Change, Remedy, Safety};

/// What is known of a variable: what is looked for, and what else changes with its entries.
pub(crate) struct ListVariable {
    variable: &'static str,
    pub(crate) things: &'static str,
    caveat: &'static str,
    /// Whether its directories come in addition to a default list, which does not change with the variable.
    adds: bool,
    /// Whether an empty entry stands for the default list: unset, the variable then means the same.
    empty_is_default: bool,
}

const fn adds(variable: &'static str, things: &'static str, caveat: &'static str) -> ListVariable {
    ListVariable { variable, things, caveat, adds: true, empty_is_default: false }
}

/// In place of the default list, which an empty entry stands for.
const fn replaces(
    variable: &'static str,
    things: &'static str,
    caveat: &'static str,
) -> ListVariable {
    ListVariable { variable, things, caveat, adds: false, empty_is_default: true }
}

/// The caveat of other variables.
const OTHER: &str = "The program may look for other names there at other times.";
const LATER: &str = "What is installed there later is not found.";

#[rustfmt::skip]
const KNOWN: [ListVariable; 24] = [
    adds("ACLOCAL_PATH", "macros", LATER),
    adds("CDPATH", "directories", "`cd NAME` goes no longer to what is made below these directories later."),
    adds("CMAKE_PREFIX_PATH", "packages", LATER),
    adds("COMPILER_PATH", "programs of the compiler", LATER),
    adds("DICPATH", "dictionaries", LATER),
    adds("ERL_LIBS", "Erlang applications", LATER),
    adds("GIT_ALTERNATE_OBJECT_DIRECTORIES", "objects", "What a repository there holds is not found: a clone that borrows from it would be damaged."),
    adds("GROFF_FONT_PATH", "fonts", LATER),
    adds("GROFF_TMAC_PATH", "macros", LATER),
    adds("GST_PLUGIN_PATH", "plugins", "GStreamer reads its plugins again after the change, once."),
    adds("GUILE_LOAD_PATH", "Scheme files", LATER),
    adds("LIBRARY_PATH", "libraries", "Libraries that are put there later are not linked."),
    adds("MAGICK_CONFIGURE_PATH", "configuration files", OTHER),
    adds("PERLLIB", "Perl modules", LATER),
    adds("PKG_CONFIG_PATH", "package descriptions", LATER),
    adds("R_LIBS", "R packages", "What is installed there later is not found, and install.packages() uses the first directory that is left."),
    adds("R_LIBS_USER", "R packages", LATER),
    adds("TCLLIBPATH", "Tcl packages", LATER),
    replaces("EMACSLOADPATH", "Lisp files", LATER),
    replaces("INFOPATH", "info files", LATER),
    replaces("LUA_CPATH", "Lua libraries", LATER),
    replaces("LUA_PATH", "Lua modules", LATER),
    replaces("MANPATH", "manual pages", LATER),
    replaces("TEXINPUTS", "TeX files", LATER),
];

/// What is known of this variable.
pub(crate) fn known(variable: &str) -> Option<&'static ListVariable> {
    KNOWN.iter().find(|known| known.variable == variable)
}

/// What is left of the lists of a variable.
#[derive(Clone, Copy, Default)]
pub(crate) struct Left {
    /// Some other entry, in each list.
    pub(crate) others: bool,
    /// An empty entry, in each list.
    pub(crate) empty: bool,
}

/// The variable without these entries. A person has to decide about directories that hold something, and about a list
/// of which nothing is left if that may bring back a default.
pub(crate) fn remedy(variable: &str, entries: Vec<String>, filled: bool, left: Left) -> Remedy {
    let known = known(variable);
    let caveat = known.map_or(OTHER, |known| known.caveat);
    let change = Change::WithoutEntries { variable: variable.to_owned(), entries };
    let same = known.is_some_and(|known| known.adds || (known.empty_is_default && left.empty));
    let safety = if filled {
        Safety::Manual(format!(
            "Some of these directories hold files: find out which programs need them. {caveat}"
        ))
    } else if left.others || same {
        Safety::Caveat(caveat.to_owned())
    } else {
        Safety::Manual(format!(
            "No entry is left. With {variable} unset the program may search a list of its own, find other \
             files, and make more calls. {caveat}"
        ))
    };
    Remedy { change, safety }
}
