//! Searches the files of a machine that may set a variable. Each format says which files to read, and whether they reach
//! a process that was started in this way.

use crate::places::shell_stock::neutral;
use crate::places::{FoundValue, shell};
use crate::started_by::StartedBy;
use needless_host::Root;
use needless_model::{Assignment, Visibility};

/// Behind a value that a program may compute.
pub(crate) const AS_WRITTEN: &str = " (as it is written there)";

/// What a line says of a variable: its value, or that it is removed.
pub(crate) fn says(variable: &str, value: Option<&str>) -> String {
    value.map_or_else(|| format!("{variable} removed"), |value| format!("{variable}={value}"))
}

/// What was found so far.
pub(crate) struct Sources<'a> {
    pub(crate) root: &'a Root,
    pub(crate) variable: &'a str,
    /// How the process got its environment.
    pub(crate) started_by: &'a StartedBy,
    /// Home directory of the process's user.
    pub(crate) home: Option<String>,
    pub(crate) assignments: Vec<Assignment>,
    /// Files that could not be read, and why.
    pub(crate) unread: Vec<String>,
}

impl<'a> Sources<'a> {
    pub(crate) fn new(
        root: &'a Root,
        variable: &'a str,
        started_by: &'a StartedBy,
        uid: u32,
    ) -> Sources<'a> {
        let home = home(root, uid);
        let (assignments, unread) = (Vec::new(), Vec::new());
        Sources { root, variable, started_by, home, assignments, unread }
    }

    /// Adds an assignment in a file.
    pub(crate) fn add(&mut self, file: &str, line: u32, says: String, reaches: Visibility) {
        self.assignments.push(Assignment { file: file.to_owned(), line, says, reaches });
    }

    /// Reads a file, if there is one, with the `find` of its format.
    pub(crate) fn file(
        &mut self,
        file: &str,
        find: fn(&str, &str, Option<&str>) -> Vec<FoundValue>,
        part: Option<&str>,
        reaches: Visibility,
    ) {
        let Some(text) = self.text(file) else { return };
        self.found(file, find(&text, self.variable, part), &reaches);
    }

    /// Adds what was found in a file.
    pub(crate) fn found(&mut self, file: &str, found: Vec<FoundValue>, reaches: &Visibility) {
        for found in found {
            let doubt = if found.certain || found.value.is_none() { "" } else { AS_WRITTEN };
            let says = says(self.variable, found.value.as_deref()) + doubt;
            self.add(file, found.line, says, found.reach.of_line(reaches.clone()));
        }
    }

    /// The same for a file that a shell sources: a variable that is set there and not exported is a trap. `exported`:
    /// a file that the shell reads before exports it, so that each assignment counts. Returns whether it is exported
    /// now.
    pub(crate) fn sourced_file(&mut self, file: &str, reaches: Visibility, exported: bool) -> bool {
        let Some(text) = self.text(file) else { return exported };
        let text = neutral(&text);
        let found = shell::assignments(&text, self.variable, exported);
        let now = found.last().map_or(exported, |last| last.value.is_some());
        self.found(file, found, &reaches);
        if let Some(line) = shell::unexported(&text, self.variable).filter(|_| !exported) {
            let says = format!("{} set, not exported", self.variable);
            let why = "a shell's variable that is not exported reaches no program";
            self.add(file, line, says, Visibility::No(why.into()));
        }
        now
    }

    /// Whether a file that was read so far sets the variable and surely reaches the process.
    pub(crate) fn has(&self) -> bool {
        let sets =
            |one: &Assignment| matches!(one.reaches, Visibility::Yes(_)) && one.says.contains('=');
        self.assignments.iter().any(sets)
    }

    /// The files of a directory whose names end in `ending`; hidden ones left out.
    pub(crate) fn in_dir(&self, dir: &str, ending: &str) -> Vec<String> {
        let all = self.root.list(dir).unwrap_or_default();
        let own = |name: &str| !name.starts_with('.') && name.ends_with(ending);
        all.into_iter().filter(|(name, _)| own(name)).map(|(n, _)| format!("{dir}/{n}")).collect()
    }

    /// The text of a file; `None` where there is none, or where it cannot be read.
    pub(crate) fn text(&mut self, file: &str) -> Option<String> {
        match self.root.read(file) {
            Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                let why = format!("{file}: no permission to read it");
                if !self.unread.contains(&why) {
                    self.unread.push(why);
                }
                None
            }
            Err(_) => None,
        }
    }
}

/// A user whose systemd runs a unit.
#[derive(Debug)]
pub(crate) struct User {
    pub(crate) uid: u32,
    pub(crate) home: String,
}

impl User {
    /// From /etc/passwd.
    pub(crate) fn of(root: &Root, uid: u32) -> Option<User> {
        Some(User { uid, home: home(root, uid)? })
    }
}

/// The home directory of a user, from /etc/passwd.
pub(crate) fn home(root: &Root, uid: u32) -> Option<String> {
    of_user(root, uid, 5)
}

/// The name of a user, from /etc/passwd.
pub(crate) fn user_name(root: &Root, uid: u32) -> Option<String> {
    of_user(root, uid, 0)
}

/// The user in whose home a file of this machine is, by its path: one whose name, or that of its directory there, begins
/// with a dot. `None` where it is in nobody's.
pub(crate) fn user_of_home(file: &str) -> Option<String> {
    let text = Root::own().ok()?.read("/etc/passwd").ok()?;
    let text = String::from_utf8_lossy(&text);
    let users = text.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let home = fields.get(5).filter(|home| home.len() > 1)?;
        file.strip_prefix(*home)?.starts_with("/.").then(|| fields[0].to_owned())
    });
    users.into_iter().next_back()
}

/// The shell of a user, from /etc/passwd.
pub(crate) fn login_shell(root: &Root, uid: u32) -> Option<String> {
    of_user(root, uid, 6)
}

/// A field of passwd(5), from 0.
fn of_user(root: &Root, uid: u32, field: usize) -> Option<String> {
    let text = root.read("/etc/passwd").ok()?;
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().find(|line| line.split(':').nth(2) == Some(&uid.to_string()))?;
    line.split(':').nth(field).map(str::to_owned)
}
