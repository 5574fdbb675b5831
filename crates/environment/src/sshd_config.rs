//! sshd's configuration as a whole: its files in the order in which sshd reads them.

use crate::places::{bare, lines};
use crate::running::sshd_sets;
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
    /// `Match …`: the lines below apply to some sessions only. Holds which.
    Match(String),
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
        "match" => SshdDirective::Match(criteria(rest)),
        _ => return None,
    })
}

/// What a `Match` line says of its sessions, without a comment and with single blanks.
pub(crate) fn criteria(text: &str) -> String {
    words(text).unwrap_or_default().join(" ")
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

/// A session of sshd: whose, and its addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SshSession {
    pub(crate) uid: u32,
    /// `SSH_CONNECTION`: the client's address and port, and ours.
    pub(crate) connection: Option<String>,
}

impl SshSession {
    /// As for `sshd -C`. The client's name is not looked up.
    fn specification(&self, root: &Root) -> Option<String> {
        let text = root.read("/etc/passwd").ok()?;
        let text = String::from_utf8_lossy(&text);
        let uid = self.uid.to_string();
        let name =
            text.lines().find(|line| line.split(':').nth(2) == Some(&uid))?.split(':').next()?;
        let words: Vec<&str> = self.connection.as_deref()?.split(' ').collect();
        let [addr, _, laddr, lport] = words[..] else { return None };
        Some(format!("user={name},host={addr},addr={addr},laddr={laddr},lport={lport}"))
    }
}

/// A session that a `Match` fits, as for `sshd -C`; `None` where none can be named.
pub(crate) fn session_of(criteria: &str) -> Option<String> {
    let (mut user, mut host, mut addr, mut laddr, mut lport) = (
        "root".to_owned(),
        "localhost".to_owned(),
        "127.0.0.1".to_owned(),
        "127.0.0.1".to_owned(),
        "22".to_owned(),
    );
    let words: Vec<&str> = criteria.split(' ').collect();
    for pair in words.chunks(2) {
        let [keyword, patterns] = *pair else {
            if pair[0].eq_ignore_ascii_case("all") {
                continue;
            }
            return None;
        };
        let one = patterns.split(',').find(|pattern| !pattern.starts_with('!'))?;
        // A network as its first address; other characters for wildcards.
        let one = one.split('/').next().unwrap_or(one).replace(['*', '?'], "1");
        match keyword.to_ascii_lowercase().as_str() {
            "user" => user = one,
            "host" => host = one,
            "address" => addr = one,
            "localaddress" => laddr = one,
            "localport" => lport = one,
            _ => return None,
        }
    }
    Some(format!("user={user},host={host},addr={addr},laddr={laddr},lport={lport}"))
}

/// A `SetEnv` line: its file, its line from 0, the `Match` that it is below, and what it sets.
struct CountingLine<'a> {
    file: &'a str,
    at: usize,
    of: Option<&'a str>,
    pairs: &'a SetEnvPairs,
}

/// The directives of all files, in sshd's order.
#[derive(Debug, Default)]
pub(crate) struct SshdConfig {
    /// File, line from 0, the `Match` that it is below, and the directive.
    lines: Vec<(String, usize, Option<String>, SshdDirective)>,
    /// What sshd itself says that it sets for the session in question; `None` where it was not asked.
    session: Option<SetEnvPairs>,
    /// What could not be read.
    pub unread: Vec<String>,
}

impl SshdConfig {
    /// Reads all of it, beginning with the file that sshd was started with (`-f`), or its default.
    pub(crate) fn read(root: &Root, main: Option<&str>) -> SshdConfig {
        let mut config = SshdConfig::default();
        config.file(root, main.unwrap_or(MAIN), &mut None, 0);
        config
    }

    /// The same for one session: where a `Match` may decide about it, sshd is asked.
    pub(crate) fn of_session(root: &Root, main: Option<&str>, session: &SshSession) -> SshdConfig {
        let mut config = SshdConfig::read(root, main);
        let set = |(.., of, said): &(String, usize, Option<String>, SshdDirective)| {
            of.is_some() && matches!(said, SshdDirective::Set(_))
        };
        if root.is_ours() && config.lines.iter().any(set) {
            config.session = session.specification(root).and_then(|of| sshd_sets(main, Some(&of)));
        }
        config
    }

    fn file(&mut self, root: &Root, file: &str, below_match: &mut Option<String>, depth: u32) {
        let text = match root.read(file) {
            Ok(text) => String::from_utf8_lossy(&text).into_owned(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
            Err(error) => return self.unread.push(format!("{file}: {error}")),
        };
        for (at, said) in directives(&text) {
            match said {
                SshdDirective::Match(of) => *below_match = Some(of),
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
                        below_match.clone(),
                        SshdDirective::Include(Vec::new()),
                    ));
                }
                said => self.lines.push((file.to_owned(), at, below_match.clone(), said)),
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

    /// The `SetEnv` that counts: for the session that sshd was asked about, else for every session. One below a
    /// `Match` that fits takes the place of all above.
    fn effective(&self) -> Option<CountingLine<'_>> {
        let sets = self.lines.iter().filter_map(|(file, at, of, said)| match said {
            SshdDirective::Set(pairs) => {
                Some(CountingLine { file, at: *at, of: of.as_deref(), pairs })
            }
            _ => None,
        });
        let mut all = sets.clone().filter(|line| line.of.is_none());
        let all = all.next();
        let Some(session) = &self.session else { return all };
        let is = |line: &CountingLine<'_>| line.pairs == session;
        all.filter(is).or_else(|| sets.clone().find(|line| line.of.is_some() && is(line)))
    }

    /// Whether sshd itself sets the variable.
    pub(crate) fn sets(&self, variable: &str) -> bool {
        self.effective().is_some_and(|line| line.pairs.iter().any(|(name, _)| name == variable))
    }

    /// The file to change, and the `Match` in it: the one whose `SetEnv` counts now, since only one does; else a drop-in
    /// if drop-ins are included, else the main file.
    pub(crate) fn file_for(&self) -> (&str, Option<&str>) {
        let included = |(file, _, of, said): &(String, usize, Option<String>, SshdDirective)| {
            file == MAIN && of.is_none() && matches!(said, SshdDirective::Include(_))
        };
        match self.effective() {
            Some(line) => (line.file, line.of),
            None if self.lines.iter().any(included) => (DROP_IN, None),
            None => (MAIN, None),
        }
    }

    /// The line with which sshd takes the variable from clients, from 0, and its file.
    pub(crate) fn accepts(&self, variable: &str) -> Option<(&str, usize)> {
        self.lines.iter().find_map(|(file, at, _, said)| match said {
            SshdDirective::Accept(patterns) if patterns.iter().any(|p| accepts(p, variable)) => {
                Some((file.as_str(), *at))
            }
            _ => None,
        })
    }

    /// Every line that may give a session the variable; `ours`: whether the process belongs to such a session.
    pub(crate) fn assignments(&self, variable: &str, ours: bool) -> Vec<Assignment> {
        let counts = self.effective().map(|line| (line.file, line.at));
        let of_match = self.effective().is_some_and(|line| line.of.is_some());
        let mut found = Vec::new();
        for (file, at, below_match, said) in &self.lines {
            let (says, reaches) = match said {
                SshdDirective::Set(pairs) => {
                    let Some((_, value)) = pairs.iter().find(|(name, _)| name == variable) else {
                        continue;
                    };
                    let counts_here = counts == Some((file.as_str(), *at));
                    let reaches = if let Some(of) = below_match.as_ref().filter(|_| counts_here) {
                        Visibility::Yes(format!(
                            "sshd sets it for this session (SetEnv below Match {of}), which is stronger than all other files"
                        ))
                    } else if below_match.is_some() && self.session.is_none() {
                        Visibility::Perhaps("if its Match fits".into())
                    } else if below_match.is_some() {
                        Visibility::No("its Match does not fit, or an earlier one does".into())
                    } else if counts_here {
                        Visibility::Yes(
                            "sshd sets it for every session (SetEnv), which is stronger than all other files".into(),
                        )
                    } else if of_match {
                        Visibility::No(
                            "sshd takes the SetEnv of the Match that fits, and no other".into(),
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
