//! `cargo xtask new-rule`, `new-place`, `new-format`: a file from a template, and its entry in a list.

use anyhow::{Context, Result, bail};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

/// What can be begun from a template.
#[derive(Debug)]
pub(crate) struct Kind {
    /// What it is called: "rule".
    noun: &'static str,
    template: &'static str,
    /// The folder of the new file.
    folder: &'static str,
    lists: &'static [List],
    /// A good name.
    example: &'static str,
    /// How many words a name has, at least and at most.
    words: (usize, usize),
    /// What is left to do.
    next: &'static str,
}

/// A list that the new file has to be in. In the texts, `{{name}}` is `tz-unset`, `{{ident}}` is `tz_unset`,
/// `{{IDENT}}` is `TZ_UNSET` and `{{Ident}}` is `TzUnset`; of a name `time/tz-unset`, `{{family}}` is `time`.
#[derive(Debug)]
struct List {
    file: &'static str,
    /// The text before its entries.
    begin: &'static str,
    /// The text before which a new entry goes.
    before: &'static str,
    entry: &'static str,
}

pub(crate) const RULE: Kind = Kind {
    noun: "rule",
    template: "tools/xtask/templates/rule.rs.txt",
    folder: "crates/rules/src/rule/{{family}}",
    lists: &[List {
        file: "crates/rules/src/rule.rs",
        begin: "\n    {{family}} {\n",
        before: "    }\n",
        entry: "        {{ident}},\n",
    }],
    example: "time/tz-unset",
    words: (2, 9),
    next: "2. write its page, with an example and a counterexample, and its check, in {{file}}\n   \
           cargo test -p needless-rules every_example\n\
           3. add a program that shows it: a case in tools/cases/table.rs\n   \
           cargo build && NEEDLESS=target/debug/needless cargo xtask cases {{name}} --write\n\
           4. cargo xtask gen && cargo test -p needless-rules && rustfmt --edition 2024 {{file}}",
};

pub(crate) const PLACE: Kind = Kind {
    noun: "place",
    template: "tools/xtask/templates/place.rs.txt",
    folder: "crates/environment/src/places",
    lists: &[
        List {
            file: "crates/environment/src/places.rs",
            begin: "",
            before: "pub(crate) mod ",
            entry: "pub(crate) mod {{ident}};\n",
        },
        List {
            file: "crates/environment/src/place_list.rs",
            begin: "\nformats! {\n",
            before: "}\n",
            entry: "    {{ident}}::{{IDENT}},\n",
        },
    ],
    example: "locale-conf",
    words: (1, 9),
    next: "2. say in {{file}} how such a file is read and written, and which processes it reaches\n\
           3. add a sample to crates/environment/tests/it/formats.rs: cargo test -p needless-environment --test it formats\n\
           4. cargo xtask gen",
};

pub(crate) const FORMAT: Kind = Kind {
    noun: "format",
    template: "tools/xtask/templates/format.rs.txt",
    folder: "crates/report/src/report",
    lists: &[List {
        file: "crates/report/src/lib.rs",
        begin: "    ReportFormat {\n",
        before: "    }\n",
        entry: "        /// Say who reads it.\n        {{Ident}}: {{ident}};\n",
    }],
    example: "sarif",
    words: (1, 1),
    next: "2. write the report in {{file}}\n\
           3. say who reads it in crates/report/src/lib.rs\n\
           4. cargo test -p needless-report",
};

impl Kind {
    /// Begins `name` in the checkout at `root`; returns what is left to do. What has families is named with its own:
    /// `time/tz-unset`.
    ///
    /// # Errors
    /// When the name is malformed or taken, or the files are not as expected; nothing is changed then.
    pub(crate) fn begin(&self, root: &Path, name: &str) -> Result<String> {
        let (family, name) = self.family_of(root, name)?;
        self.check_name(name)?;
        let folder = self.folder.replace("{{family}}", family);
        let file = format!("{folder}/{}.rs", name.replace('-', "_"));
        let text = fill(&read(root, self.template)?, name, &file);
        if let Some(at) = text.find("{{") {
            let rest: String = text[at..].chars().take(20).collect();
            bail!("{}: unknown placeholder at {rest:?}", self.template);
        }
        let listed = self.lists.iter().map(|list| list.with(root, family, name));
        let listed = listed.collect::<Result<Vec<String>>>()?;
        let mut created = File::create_new(root.join(&file))
            .with_context(|| format!("cannot begin {name}: cannot create {file}"))?;
        created.write_all(text.as_bytes()).with_context(|| format!("cannot write {file}"))?;
        for (list, text) in self.lists.iter().zip(listed) {
            fs::write(root.join(list.file), text)
                .with_context(|| format!("cannot write {}", list.file))?;
        }
        let lists: Vec<&str> = self.lists.iter().map(|list| list.file).collect();
        let next = fill(self.next, name, &file);
        Ok(format!("1. done: {file}, listed in {}; it compiles as it is\n{next}", lists.join(", ")))
    }

    /// The family in a name, and the rest; "" for what has no families.
    fn family_of<'n>(&self, root: &Path, name: &'n str) -> Result<(&'n str, &'n str)> {
        let Some(above) = self.folder.strip_suffix("/{{family}}") else { return Ok(("", name)) };
        let folders =
            fs::read_dir(root.join(above)).with_context(|| format!("cannot read {above}"))?;
        let folders = folders.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        // The rules of the last one report what all others left over.
        let mut families: Vec<String> = folders.filter(|family| family != "general").collect();
        families.sort_unstable();
        match name.split_once('/') {
            Some((family, rest)) if families.iter().any(|known| known == family) => {
                Ok((family, rest))
            }
            _ => bail!(
                "{name:?} does not name a {}: use FAMILY/NAME, as in {}; families are {}",
                self.noun,
                self.example,
                families.join(", ")
            ),
        }
    }

    /// Names are kebab-case (`tz-unset`) and, with underscores, Rust modules.
    fn check_name(&self, name: &str) -> Result<()> {
        let word = |part: &str| {
            !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        };
        let kebab = name.starts_with(|c: char| c.is_ascii_lowercase()) && name.split('-').all(word);
        let Kind { noun, example, .. } = self;
        if !kebab {
            bail!(
                "{name:?} does not name a {noun}: use lower-case words joined by hyphens, as in {example}"
            );
        }
        let words = name.split('-').count();
        if words < self.words.0 || words > self.words.1 {
            let (least, most) = self.words;
            bail!("{name:?} does not name a {noun}: use {least} to {most} words, as in {example}");
        }
        Ok(())
    }
}

impl List {
    /// The source of the list with an entry for `name`.
    fn with(&self, root: &Path, family: &str, name: &str) -> Result<String> {
        let source = read(root, self.file)?;
        let entry = fill(self.entry, name, "");
        if source.contains(entry.lines().last().unwrap_or(&entry)) {
            bail!("there is a {name} already, in {}", self.file);
        }
        let begin = self.begin.replace("{{family}}", family);
        let begin = source.find(&begin).map(|at| at + begin.len());
        let at = begin.and_then(|begin| Some(begin + source[begin..].find(self.before)?));
        let at = at.with_context(|| format!("{}: no list found", self.file))?;
        // Modules are sorted, as rustfmt has them.
        let sorted = entry.starts_with(self.before);
        let lines = source[at..].split_inclusive('\n');
        let smaller = |line: &&str| sorted && line.contains("mod ") && **line < *entry;
        let at = at + lines.take_while(smaller).map(str::len).sum::<usize>();
        Ok(format!("{}{entry}{}", &source[..at], &source[at..]))
    }
}

fn read(root: &Path, path: &str) -> Result<String> {
    fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {path}"))
}

fn fill(text: &str, name: &str, file: &str) -> String {
    let ident = name.replace('-', "_");
    let capital = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
    let camel: String = name.split('-').map(capital).collect();
    text.replace("{{name}}", name)
        .replace("{{ident}}", &ident)
        .replace("{{IDENT}}", &ident.to_ascii_uppercase())
        .replace("{{Ident}}", &camel)
        .replace("{{file}}", file)
}
