//! The structure of a file, as TOML gives it: each value with its position.

use crate::ConfigError;
use needless_model::parser_message;
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use toml::Spanned;
use toml::value::Datetime;

/// A file's text and name.
pub(crate) struct Text<'t> {
    text: &'t str,
    name: &'t str,
    /// Where its lines begin, the first one included: a position is looked up for each rule and
    /// suppression.
    lines: Vec<usize>,
}

impl<'t> Text<'t> {
    pub(crate) fn new(text: &'t str, name: &'t str) -> Text<'t> {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let lines = std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect();
        Text { text, name, lines }
    }

    /// `FILE:LINE`, from 1.
    pub(crate) fn line(&self, span: &Range<usize>) -> String {
        format!("{}:{}", self.name, self.number(span.start))
    }

    /// An error about what stands at `span`.
    pub(crate) fn wrong(&self, span: &Range<usize>, what: impl Into<String>) -> ConfigError {
        let (line, column) = self.position(span.start);
        ConfigError::at(&format!("{}:{line}:{column}", self.name), what)
    }

    /// What errors call the file.
    pub(crate) fn name(&self) -> &'t str {
        self.name
    }

    /// Line and column, in characters, both from 1.
    fn position(&self, at: usize) -> (usize, usize) {
        let line = self.number(at);
        let before = self.text.get(self.lines[line - 1]..at).unwrap_or_default();
        (line, before.chars().count() + 1)
    }

    /// The line, from 1.
    pub(crate) fn number(&self, at: usize) -> usize {
        // The first begins at 0, before or at any place.
        self.lines.partition_point(|begin| *begin <= at)
    }
}

pub(crate) fn read(text: &Text<'_>) -> Result<File, ConfigError> {
    toml::from_str(text.text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        text.wrong(&span, &*parser_message(error.message()))
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    #[serde(default)]
    pub(crate) rule: Vec<Spanned<RuleIn>>,
    #[serde(default)]
    pub(crate) ignore: Vec<Spanned<IgnoreIn>>,
    #[serde(default)]
    pub(crate) budget: BTreeMap<String, Spanned<BudgetIn>>,
}

#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    rename_all = "kebab-case",
    expecting = "a table: [budget.NAME] with lines such as calls = 1000"
)]
pub(crate) struct BudgetIn {
    pub(crate) calls: Option<Spanned<LimitIn>>,
    pub(crate) path_calls: Option<Spanned<LimitIn>>,
    pub(crate) failed: Option<Spanned<LimitIn>>,
    pub(crate) needless: Option<Spanned<LimitIn>>,
    pub(crate) processes: Option<Spanned<LimitIn>>,
    pub(crate) cpu_ms: Option<Spanned<LimitIn>>,
    #[serde(default)]
    pub(crate) call: BTreeMap<String, Spanned<LimitIn>>,
    #[serde(default)]
    pub(crate) rule: BTreeMap<String, Spanned<LimitIn>>,
}

#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    rename_all = "kebab-case",
    expecting = "a table: [[rule]] with lines such as name = \"…\" and calls = \"stat\""
)]
pub(crate) struct RuleIn {
    pub(crate) name: Spanned<String>,
    pub(crate) calls: Spanned<TextList>,
    pub(crate) path: Option<Spanned<TextList>>,
    pub(crate) except: Option<Spanned<TextList>>,
    pub(crate) outcome: Option<Spanned<TextList>>,
    pub(crate) program: Option<Spanned<TextList>>,
    #[serde(default)]
    pub(crate) env: BTreeMap<String, Spanned<EnvIn>>,
    pub(crate) needless: Option<Spanned<String>>,
    pub(crate) at_least: Option<Spanned<u64>>,
    pub(crate) per_second: Option<Spanned<f64>>,
    pub(crate) message: Spanned<String>,
    pub(crate) why: Spanned<String>,
    pub(crate) remedy: Spanned<RemedyIn>,
    #[serde(default)]
    pub(crate) example: Vec<Spanned<ExampleIn>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table: { set = \"VAR=VALUE\", caveat = \"…\" }")]
pub(crate) struct RemedyIn {
    pub(crate) set: Option<Spanned<String>>,
    pub(crate) unset: Option<Spanned<String>>,
    pub(crate) text: Option<Spanned<String>>,
    pub(crate) caveat: Spanned<String>,
    pub(crate) fix: Option<Spanned<bool>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExampleIn {
    pub(crate) trace: String,
    pub(crate) finding: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table: [[ignore]] with lines such as rule = \"tz-unset\" and reason = \"…\""
)]
pub(crate) struct IgnoreIn {
    pub(crate) rule: Spanned<String>,
    pub(crate) program: Option<Spanned<String>>,
    pub(crate) path: Option<Spanned<String>>,
    pub(crate) unit: Option<Spanned<String>>,
    pub(crate) reason: Spanned<String>,
    pub(crate) until: Option<Spanned<Datetime>>,
}

/// How much, and how much more is chance: a number, or `{ most = 12, vary = 3 }`.
pub(crate) struct LimitIn {
    pub(crate) most: u64,
    pub(crate) vary: Vary,
}

/// A number of calls, or a share of the limit.
pub(crate) enum Vary {
    Calls(u64),
    Percent(f64),
}

/// One text, or a list of them.
pub(crate) struct TextList(pub(crate) Vec<String>);

/// A pattern, `true` for set to any value, `false` for unset.
pub(crate) enum EnvIn {
    Is(bool),
    Fits(String),
}

impl<'de> Deserialize<'de> for TextList {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<TextList, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = TextList;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of texts")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<TextList, E> {
                Ok(TextList(vec![text.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<TextList, A::Error> {
                let mut words = Vec::new();
                while let Some(word) = list.next_element()? {
                    words.push(word);
                }
                Ok(TextList(words))
            }
        }
        from.deserialize_any(Reader)
    }
}

impl<'de> Deserialize<'de> for EnvIn {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<EnvIn, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = EnvIn;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a pattern, `true` (set) or `false` (unset)")
            }

            fn visit_bool<E: de::Error>(self, is: bool) -> Result<EnvIn, E> {
                Ok(EnvIn::Is(is))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<EnvIn, E> {
                Ok(EnvIn::Fits(text.to_owned()))
            }
        }
        from.deserialize_any(Reader)
    }
}

impl<'de> Deserialize<'de> for LimitIn {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<LimitIn, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Both {
            most: u64,
            #[serde(default = "none")]
            vary: Vary,
        }
        fn none() -> Vary {
            Vary::Calls(0)
        }
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = LimitIn;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number from 0, or { most = 12, vary = 3 }")
            }

            fn visit_i64<E: de::Error>(self, most: i64) -> Result<LimitIn, E> {
                Ok(LimitIn { most: whole(most)?, vary: none() })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<LimitIn, A::Error> {
                let from = de::value::MapAccessDeserializer::new(map);
                let Both { most, vary } = Both::deserialize(from)?;
                Ok(LimitIn { most, vary })
            }
        }
        from.deserialize_any(Reader)
    }
}

impl<'de> Deserialize<'de> for Vary {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Vary, D::Error> {
        struct Reader;
        impl Visitor<'_> for Reader {
            type Value = Vary;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number from 0, or a percentage (\"25%\")")
            }

            fn visit_i64<E: de::Error>(self, calls: i64) -> Result<Vary, E> {
                Ok(Vary::Calls(whole(calls)?))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Vary, E> {
                let number = text.strip_suffix('%').and_then(|number| number.parse().ok());
                let number = number.filter(|n: &f64| n.is_finite() && *n >= 0.0);
                let wrong = || E::invalid_value(de::Unexpected::Str(text), &self);
                number.map(Vary::Percent).ok_or_else(wrong)
            }
        }
        from.deserialize_any(Reader)
    }
}

fn whole<E: de::Error>(number: i64) -> Result<u64, E> {
    let wrong = || E::invalid_value(de::Unexpected::Signed(number), &"a number from 0");
    u64::try_from(number).map_err(|_| wrong())
}
