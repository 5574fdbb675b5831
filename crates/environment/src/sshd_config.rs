//! sshd's configuration as a whole: its files in the order in which sshd reads them.

use crate::format::{bare, lines};
use needless_host::Root;
use needless_model::{Assignment, Visibility};

/// Where it begins.
const MAIN: &str = "/etc/ssh/sshd_config";
/// The drop-in that we make.
const DROP_IN: &str = "/etc/ssh/sshd_config.d/zz-needless.conf";
/// How deep files may include others (readconf.h of OpenSSH).
const DEEPEST: u32 = 16;

/// What a line says that lets a client set the variable.
pub(crate) const ACCEPTED: &str = " in AcceptEnv";

/// Names and values.
pub(crate) type SetEnvPairs = Vec<(String, String)>;

/// A directive about the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SshdDirective {
    /// `SetEnv NAME=VALUE …`. sshd uses the first such line and ignores the others.
    Set(SetEnvPairs),
    /// `AcceptEnv PATTERN …`: what a client may send. These lines add up.
    Accept(Vec<String>),
    /// `PermitUserEnvironment`: which variables ~/.ssh/environment and authorized_keys may set: `yes`, `no` or patterns.
    UserFile(String),
    /// `UsePAM`
    Pam(bool),
    /// `Include PATTERN …`
    Include(Vec<String>),
    /// `Match …`: the lines below apply to some sessions only.
    Match,
}

/// The directives of a text, each with its line, from 0.
pub(crate) fn directives(text: &str) -> Vec<(usize, SshdDirective)> {
    let all = lines(text).into_iter().enumerate();
    all.filter_map(|(at, line)| one(bare(line)).map(|said| (at, said))).collect()
}

fn one(line: &str) -> Option<SshdDirective> {
    let line = line.trim();
    let end = line.find([' ', '\t', '=', '"']).unwrap_or(line.len());
    let rest = line[end..].trim_start();
    let rest = rest.strip_prefix('=').unwrap_or(rest);
    let words = words(rest)?;
    let yes = |no: &str| words.first().is_some_and(|word| !word.eq_ignore_ascii_case(no));
    Some(match line[..end].to_ascii_lowercase().as_str() {
        "setenv" => {
            let pairs = words.iter().filter_map(|word| word.split_once('='));
            SshdDirective::Set(
                pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            )
        }
        "acceptenv" => SshdDirective::Accept(words),
        "permituserenvironment" => SshdDirective::UserFile(words.concat()),
        "usepam" => SshdDirective::Pam(yes("no")),
        "include" => SshdDirective::Include(words),
        "match" => SshdDirective::Match,
        _ => return None,
    })
}

/// Words up to a comment. Quotes may surround a word or a part of one; a backslash escapes a quote or another
/// backslash. `None` where a quote is not closed.
fn words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (_, '\\') => {
                let escaped = chars.next_if(|next| matches!(next, '"' | '\'' | '\\'));
                word.get_or_insert_default().push(escaped.unwrap_or('\\'));
            }
            (Some(q), c) if c == q => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, ' ' | '\t') => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// Whether a pattern of `AcceptEnv` (`*`, `?`) matches a name.
pub(crate) fn accepts(pattern: &str, name: &str) -> bool {
    match (pattern.chars().next(), name.chars().next()) {
        (None, None) => true,
        (Some('*'), _) => {
            let rest = &pattern[1..];
            name.char_indices().any(|(at, _)| accepts(rest, &name[at..])) || accepts(rest, "")
        }
        (Some('?'), Some(c)) => accepts(&pattern[1..], &name[c.len_utf8()..]),
        (Some(p), Some(c)) if p == c => accepts(&pattern[p.len_utf8()..], &name[c.len_utf8()..]),
        _ => false,
    }
}

/// The directives of all files, in sshd's order.
#[derive(Debug, Default)]
pub(crate) struct SshdConfig {
    /// File, line from 0, whether below a `Match`, and the directive.
    lines: Vec<(String, usize, bool, SshdDirective)>,
    /// What could not be read.
    pub unread: Vec<String>,
}

impl SshdConfig {
    /// Reads all of it, beginning with the file that sshd was started with (`-f`), or its default.
    pub(crate) fn read(root: &Root, main: Option<&str>) -> SshdConfig {
        let mut config = SshdConfig::default();
        config.file(root, main.unwrap_or(MAIN), &mut false, 0);
        config
    }

    fn file(&mut self, root: &Root, file: &str, below_match: &mut bool, depth: u32) {
        let text = match root.read(file) {
            Ok(text) => String::from_utf8_lossy(&text).into_owned(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
            Err(error) => return self.unread.push(format!("{file}: {error}")),
        };
        for (at, said) in directives(&text) {
            match said {
                SshdDirective::Match => *below_match = true,
                SshdDirective::Include(patterns) if depth < DEEPEST => {
                    for pattern in patterns {
                        // A Match in an included file ends with that file.
                        for file in self.files(root, &pattern) {
                            self.file(root, &file, &mut below_match.clone(), depth + 1);
                        }
                    }
                    self.lines.push((
                        file.to_owned(),
                        at,
                        *below_match,
                        SshdDirective::Include(Vec::new()),
                    ));
                }
                said => self.lines.push((file.to_owned(), at, *below_match, said)),
            }
        }
    }

    /// The files of a pattern, sorted by name; only `*` in the last part is supported.
    fn files(&mut self, root: &Root, pattern: &str) -> Vec<String> {
        let pattern = if pattern.starts_with('/') {
            pattern.to_owned()
        } else {
            format!("/etc/ssh/{pattern}")
        };
        let (dir, name) = pattern.rsplit_once('/').unwrap_or(("", &pattern));
        if dir.contains(['*', '?', '[']) || name.contains(['?', '[']) {
            self.unread.push(format!("Include {pattern}: a pattern that is not expanded"));
            return Vec::new();
        }
        if !name.contains('*') {
            return vec![pattern];
        }
        let all = root.list(dir).unwrap_or_default().into_iter().map(|(name, _)| name);
        let mut names: Vec<_> =
            all.filter(|one| !one.starts_with('.') && accepts(name, one)).collect();
        names.sort();
        names.into_iter().map(|name| format!("{dir}/{name}")).collect()
    }

    /// Whether sessions go through PAM; sshd's own default is no.
    pub(crate) fn uses_pam(&self) -> bool {
        let mut pam = self.lines.iter().filter_map(|(.., said)| match said {
            SshdDirective::Pam(yes) => Some(*yes),
            _ => None,
        });
        pam.next().unwrap_or(false)
    }

    /// The `SetEnv` that counts for every session: its file, and whether it sets the variable.
    fn effective(&self, variable: &str) -> Option<(&str, usize, bool)> {
        self.lines.iter().find_map(|(file, at, below_match, said)| match said {
            SshdDirective::Set(pairs) if !below_match => {
                Some((file.as_str(), *at, pairs.iter().any(|(name, _)| name == variable)))
            }
            _ => None,
        })
    }

    /// Whether sshd itself sets the variable for every session.
    pub(crate) fn sets(&self, variable: &str) -> bool {
        self.effective(variable).is_some_and(|(.., sets)| sets)
    }

    /// The file to change: the one whose `SetEnv` counts now, since only one does; else a drop-in if drop-ins are
    /// included, else the main file.
    pub(crate) fn file_for(&self, variable: &str) -> &str {
        let included = |(file, _, below_match, said): &(String, usize, bool, SshdDirective)| {
            file == MAIN && !below_match && matches!(said, SshdDirective::Include(_))
        };
        match self.effective(variable) {
            Some((file, ..)) => file,
            None if self.lines.iter().any(included) => DROP_IN,
            None => MAIN,
        }
    }

    /// Every line that may give a session the variable; `ours`: whether the process belongs to such a session.
    pub(crate) fn assignments(&self, variable: &str, ours: bool) -> Vec<Assignment> {
        let counts = self.effective(variable).map(|(file, at, _)| (file.to_owned(), at));
        let mut found = Vec::new();
        for (file, at, below_match, said) in &self.lines {
            let (says, reaches) = match said {
                SshdDirective::Set(pairs) => {
                    let Some((_, value)) = pairs.iter().find(|(name, _)| name == variable) else {
                        continue;
                    };
                    let reaches = if *below_match {
                        Visibility::Perhaps("if its Match fits".into())
                    } else if counts == Some((file.clone(), *at)) {
                        Visibility::Yes(
                            "sshd sets it for every session (SetEnv), which is stronger than all other files".into(),
                        )
                    } else {
                        Visibility::No("sshd takes the first SetEnv line only".into())
                    };
                    (format!("{variable}={value}"), reaches)
                }
                SshdDirective::Accept(patterns)
                    if patterns.iter().any(|p| accepts(p, variable)) =>
                {
                    let reaches = "if the client sends it (SendEnv), and nothing else sets it";
                    (format!("{variable}{ACCEPTED}"), Visibility::Perhaps(reaches.into()))
                }
                _ => continue,
            };
            let reaches =
                if ours { reaches } else { Visibility::No("only for sessions of sshd".into()) };
            let line = u32::try_from(at + 1).unwrap_or(u32::MAX);
            found.push(Assignment { file: file.clone(), line, says, reaches });
        }
        found
    }

    /// Whether a user's ~/.ssh/environment and authorized_keys may set the variable.
    pub(crate) fn reads_user_file(&self, variable: &str) -> bool {
        let mut said = self.lines.iter().filter_map(|(.., said)| match said {
            SshdDirective::UserFile(said) => Some(said.as_str()),
            _ => None,
        });
        match said.next().unwrap_or("no") {
            "no" => false,
            "yes" => true,
            patterns => patterns.split(',').any(|pattern| accepts(pattern, variable)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_accept_env() {
        for (pattern, name, fits) in [
            ("LC_*", "LC_ALL", true),
            ("LC_*", "LANG", false),
            ("*", "TZ", true),
            ("T?", "TZ", true),
            ("T?", "T", false),
            ("*G", "LANG", true),
        ] {
            assert_eq!(accepts(pattern, name), fits, "{pattern} {name}");
        }
    }
}
