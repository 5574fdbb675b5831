//! ## What it finds
//!
//! Programs that connect to PostgreSQL and look for the files of Kerberos first, on a machine
//! without Kerberos.
//!
//! ## Why it happens
//!
//! libpq offers encryption by GSSAPI before anything else. To see whether there is a ticket, the
//! Kerberos library looks for its configuration, the cache of tickets and key tables: some ten
//! failed opens and twice as many calls per connection.
//!
//! ## Example
//!
//! ```trace
//! env -PGGSSENCMODE
//! execve("/usr/bin/psql", ["psql"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libpq.so.5", O_RDONLY|O_CLOEXEC) = 3
//! repeat 3
//! openat(AT_FDCWD, "/etc/krb5.conf", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/etc/krb5.conf", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/tmp/krb5cc_0", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/etc/krb5.keytab", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! end
//! ```
//! ```finding
//! kerberos-probing: 12 of 12
//! set PGGSSENCMODE=disable
//! ```
//!
//! ## Not a finding
//!
//! A machine with Kerberos; and a program that is not PostgreSQL's:
//!
//! ```trace
//! execve("/usr/bin/psql", ["psql"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libpq.so.5", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/etc/krb5.conf", O_RDONLY|O_CLOEXEC) = 3
//! repeat 3
//! openat(AT_FDCWD, "/usr/etc/krb5.conf", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/tmp/krb5cc_0", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/etc/krb5.keytab", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! end
//! execve("/usr/bin/ssh", ["ssh"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 3
//! openat(AT_FDCWD, "/etc/krb5.conf", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/tmp/krb5cc_0", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! end
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Set PGGSSENCMODE=disable. Do not do this if a server requires GSSAPI: it would refuse the
//! connection. Encryption by TLS is not affected. Never set PGSSLMODE=disable: that would give up
//! encryption to save a few calls.
//!
//! ## References
//!
//! * <https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNECT-GSSENCMODE>
//! * <https://github.com/psycopg/psycopg2/issues/1049>: 111 ms per connection, 3 ms without

use crate::engine::helpers::{self, RowClass};
use crate::text::number;
use crate::{Rule, Sink, View};
use needless_model::{ProcId, Remedy, Row, Safety, Stage};

pub(crate) const RULE: Rule = Rule {
    name: "kerberos-probing",
    summary: "PostgreSQL's client looks for Kerberos at each connection",
    variables: &["PGGSSENCMODE"],
    mentions: &["libpq.so"],
    ..Rule::PLAIN
};

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let kerberos = |path: &str| {
        path.contains("/krb5") || path.contains("/gss/mech") || path.ends_with(".keytab")
    };
    let libpq = |id: ProcId| {
        let opened = || view.rows_of(id).filter(|(_, row)| row.ok());
        let path = |row: &Row| view.profile.path(row).to_owned();
        let configured = ["/etc/krb5.conf", "/usr/etc/krb5.conf"];
        view.process(id).env.value("PGGSSENCMODE").is_none()
            && opened()
                .any(|(_, row)| helpers::file_name(view.profile.path(row)).starts_with("libpq.so"))
            && !opened().any(|(_, row)| configured.contains(&&*path(row)))
    };
    let class =
        |row: &Row, path: &str| RowClass::Needless.when(kerberos(path) && helpers::absent(row));
    // For the configuration and the key table it makes one more call each, for the user's id.
    let calls = |_: &Row, path: &str| {
        if path.ends_with("krb5.conf") || path.ends_with(".keytab") { 2 } else { 1 }
    };
    let cases = helpers::cases(view, sink, libpq, class);
    for (program, cases) in helpers::by_program(view, cases, 1) {
        let merged = helpers::merged(view, cases);
        let what =
            format!("{} failed calls look for Kerberos before connecting", number(merged.needless));
        let why = format!(
            "{program} uses libpq, which tries GSSAPI before each connection; this machine has no \
             configuration of Kerberos."
        );
        let remedies = vec![remedy()];
        let besides = helpers::accompanying(view, &merged, calls);
        let finding = helpers::finding(merged, RULE.name, Stage::Explained, what, why, remedies);
        sink.find(helpers::beside(finding, besides));
    }
}

/// Keeps libpq from trying.
pub(crate) fn remedy() -> Remedy {
    let price = "A server that requires GSSAPI then refuses the connection. TLS is not affected.";
    helpers::set("PGGSSENCMODE", "disable", Safety::Caveat(price.to_owned()))
}
