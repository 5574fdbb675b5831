//! Daemons that build the environment of what they run themselves: PostgreSQL's starter, and Apache for CGI programs.

use crate::booted::machine::Machine;
use crate::booted::scenario::*;
use crate::common::*;

const PSQL: &str = "psql -q -h /run/postgresql -p 5499 -U postgres";

/// Starts a cluster of PostgreSQL named "probe"; its version.
fn cluster(machine: &Machine) -> Option<String> {
    machine.has("pg_createcluster")?;
    let version = machine.ok("ls /usr/lib/postgresql | sort -V | tail -n 1").trim().to_owned();
    // The packages were unpacked, not installed: the user may be missing.
    machine.ok(&format!(
        "set -e; id postgres 2>/dev/null || useradd -r -d /var/lib/postgresql postgres
         mkdir -p /etc/postgresql /var/lib/postgresql /var/log/postgresql /run/postgresql
         chown postgres: /var/lib/postgresql /var/log/postgresql /run/postgresql; export LC_ALL=C
         pg_createcluster -u postgres -p 5499 {version} probe -- --no-sync -A trust
         echo \"listen_addresses = ''\" >>/etc/postgresql/{version}/probe/postgresql.conf
         systemctl daemon-reload; systemctl start postgresql@{version}-probe"
    ));
    let perl = "create extension plperlu; create function storm() returns void language plperlu as
        $$ my @t = localtime for 1 .. 50; select undef, undef, undef, 0.2 $$;
        create function zone() returns text language plperlu as
        $$ use POSIX; return strftime('%z', localtime) $$";
    machine.write("/run/storm.sql", "644", perl);
    machine.ok(&format!("{PSQL} -f /run/storm.sql"));
    Some(version)
}

/// PostgreSQL has time zones of its own and asks for nothing; but what runs in it (PL/Perl) or is run by
/// it (COPY TO PROGRAM, archive_command) does, and has the server's environment.
#[test]
fn fix_says_what_postgresql_starts_with() {
    let Some(machine) = machine("debs-postgresql") else { return };
    let Some(version) = cluster(&machine) else { return };
    // The obvious place has no effect.
    let drop_in = "/etc/systemd/system/postgresql@.service.d/tz.conf";
    machine.write(drop_in, "644", "[Service]\nEnvironment=TZ=UTC\n");
    machine.ok("systemctl daemon-reload");
    let unit = format!("postgresql@{version}-probe.service");
    let place = format!("/etc/postgresql/{version}/probe/environment");
    let dead =
        format!("{drop_in}:2 TZ=UTC does not reach it: {unit} has it, and pg_ctlcluster clears");
    let run = |sql: &str| format!("systemctl restart {unit}; setsid {PSQL} -c \"{sql}\" &");
    let storm = run("select storm() from generate_series(1, 1000000)");
    let copied = run("copy (select 1) to program 'exec /usr/local/bin/probe NAME'");
    let cluster = Scenario {
        all: &[&dead],
        place: (&place, "high"),
        fix: "--pid PID",
        story: &["no tool writes there: add the line `TZ = 'VALUE'` by hand"],
        ends: Ends::ByHand("environment: add the line `TZ = 'Asia/Tokyo'` by hand; no tool writes"),
        ..UNIT
    };
    hold(
        &machine,
        &[
            // Its title is written over its environment.
            Scenario {
                name: "backend",
                start: &storm,
                words: "postgres: .*postgres .local. SELECT.*",
                offset: &format!("{PSQL} -At -c 'select zone()'"),
                program: "postgres",
                ..cluster
            },
            Scenario { name: "copied", start: &copied, ..cluster },
        ],
    );
}

const SITE: &str = "# a site\nListen 127.0.0.1:8088\nServerName localhost\nScriptAlias /cgi/ /srv/cgi/\n\
    <Directory /srv/cgi>\nRequire all granted\nSetEnv COLOUR red\n</Directory>\n";
/// Apache anew, and a request for the CGI program.
const ASK: &str = "systemctl restart apache2; setsid bash -c 'exec 3<>/dev/tcp/127.0.0.1/8088
    printf \"GET /cgi/probe HTTP/1.0\\r\\n\\r\\n\" >&3; cat <&3' >/dev/null 2>&1 </dev/null &";

#[test]
fn fix_changes_what_apache_gives_to_cgi_programs() {
    let Some(machine) = machine("debs-apache") else { return };
    if machine.has("apachectl").is_none() {
        return;
    }
    machine.write("/etc/apache2/sites-enabled/probe.conf", "644", SITE);
    machine.write("/srv/cgi/probe", "755", "#!/bin/sh\nexec /usr/local/bin/probe cgi\n");
    machine.ok("set -e; : >/etc/apache2/ports.conf; mkdir -p /var/log/apache2 /var/www/html
         a2enmod -q mpm_prefork authz_core cgi env alias; systemctl daemon-reload");
    hold(
        &machine,
        &[Scenario {
            name: "cgi",
            files: &[("/etc/environment", "644", "TZ=Asia/Tokyo\n")],
            start: ASK,
            all: &[
                "/etc/environment:1 TZ=Asia/Tokyo does not reach it: Apache, as a CGI program, does not read it",
            ],
            place: ("/etc/apache2/envvars", "high"),
            fix: "--pid PID",
            ..UNIT
        }],
    );
    machine.ok("apachectl configtest");
    // A CGI program gets only those other variables of Apache that PassEnv names.
    machine.ok(&format!("echo 'export FLAVOUR=sweet' >>/etc/apache2/envvars; {ASK}"));
    let pid = machine.pid_of(&format!("{WORDS} cgi"), "0");
    let provenance = |variable: &str, pid: &str| {
        flat(&machine.ok(&format!("needless origin --show-value {variable} {pid}")))
    };
    let story = provenance("FLAVOUR", &pid);
    assert!(story.starts_with("FLAVOUR is not set in perl["), "{story}");
    assert!(story.contains("only if PassEnv names them"), "{story}");
    let refused = machine.run(&format!("needless fix --pid {pid} --set FLAVOUR=sour --yes"));
    assert!(stderr(&refused).contains("write `PassEnv FLAVOUR`"), "{}", stderr(&refused));
    let story = provenance("COLOUR", &pid);
    assert!(story.starts_with("COLOUR is red in perl["), "{story}");
    assert!(story.contains("/etc/apache2/sites-enabled/probe.conf:7 sets it"), "{story}");
    machine.ok("echo 'PassEnv FLAVOUR' >>/etc/apache2/sites-enabled/probe.conf");
    machine.end(&pid);
    machine.ok(ASK);
    let story = provenance("FLAVOUR", &machine.pid_of(&format!("{WORDS} cgi"), &pid));
    assert!(story.starts_with("FLAVOUR is sweet in perl["), "{story}");
    assert!(story.contains("/etc/apache2/envvars:"), "{story}");
}
