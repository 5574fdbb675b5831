//! `origin`, `fix` and `undo` with more real daemons: daemons that build their own environment (PostgreSQL,
//! Apache), and launchers beside systemd's system units (systemd of a user, runit, s6, OpenRC, at).

use crate::cell::*;
use crate::common::*;
use crate::machine::{Machine, wait};

fn machine(debs: &str) -> Option<Machine> {
    program("perl")?;
    program("strace")?;
    Machine::boot_with(&[("probe", PROBE)], debs)
}

/// A way to start the probe as `probe NAME`.
fn probe<'a>(machine: &'a Machine, name: &'a str) -> impl Fn(&str) -> String + use<'a> {
    move |not| machine.pid_of(&format!("{WORDS} {name}"), not)
}

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
    Some(version)
}

/// PostgreSQL has time zones of its own and asks for nothing; but what runs in it (PL/Perl) or is run by
/// it (COPY TO PROGRAM, archive_command) does, and has the server's environment.
#[test]
fn postgresql_whose_starter_clears_the_environment() {
    let Some(machine) = machine("debs-postgresql") else { return };
    let Some(version) = cluster(&machine) else { return };
    let psql = "psql -q -h /run/postgresql -p 5499 -U postgres";
    let perl = "create extension plperlu; create function storm() returns void language plperlu as
        $$ my @t = localtime for 1 .. 50; select undef, undef, undef, 0.2 $$";
    machine.write("/run/storm.sql", "644", perl);
    machine.ok(&format!("{psql} -f /run/storm.sql"));
    // The obvious place has no effect.
    let drop_in = "/etc/systemd/system/postgresql@.service.d/tz.conf";
    machine.write(drop_in, "644", "[Service]\nEnvironment=TZ=UTC\n");
    machine.ok("systemctl daemon-reload");
    let unit = format!("postgresql@{version}-probe.service");
    let place = format!("/etc/postgresql/{version}/probe/environment");
    let dead =
        format!("{drop_in}:2 TZ=UTC does not reach it: {unit} has it, and pg_ctlcluster clears");
    let run = |sql: &str| {
        machine.ok(&format!("systemctl restart {unit}"));
        drop(machine.start(&format!("exec {psql} -c \"{sql}\"")));
    };
    let why = [dead.as_str()];
    let start = || run("select storm() from generate_series(1, 1000000)");
    let title = "postgres: .*postgres .local. SELECT.*";
    let find = |not: &str| machine.pid_of(title, not);
    let backend = Cell {
        name: "a backend of PostgreSQL",
        start: &start,
        find: &find,
        program: "postgres",
        why: &why,
        place: &place,
    };
    backend.holds(&machine);
    let start = || run("copy (select 1) to program 'exec /usr/local/bin/probe copied'");
    let find = probe(&machine, "copied");
    let name = "what PostgreSQL runs";
    let copied =
        Cell { name, start: &start, find: &find, program: "perl", why: &why, place: &place };
    copied.holds(&machine);
    // pg_ctlcluster reads the values that were written there.
    let read = format!(
        "perl -MPgCommon -e 'my %e = PgCommon::read_conf_file(shift); print \"X=$e{{X}}\\n\"' {place}"
    );
    let pid = machine.ok(&format!("systemctl show -p MainPID --value {unit}"));
    let written = values_arrive(&machine, &format!("--pid {}", pid.trim()), &read);
    // Quotes and backslashes are refused.
    assert_eq!(written, HARD.len() - 3);
    machine.ok(&format!("systemctl restart {unit}"));
}

#[test]
fn apache_and_its_cgi_programs() {
    let Some(machine) = machine("debs-apache") else { return };
    if machine.has("apachectl").is_none() {
        return;
    }
    let site = "# a site\nListen 127.0.0.1:8088\nServerName localhost\nScriptAlias /cgi/ /srv/cgi/\n\
                <Directory /srv/cgi>\nRequire all granted\nSetEnv COLOUR red\n</Directory>\n";
    machine.write("/etc/apache2/sites-enabled/probe.conf", "644", site);
    machine.write("/srv/cgi/probe", "755", "#!/bin/sh\nexec /usr/local/bin/probe cgi\n");
    machine.write("/etc/environment", "644", "TZ=Asia/Tokyo\n");
    machine.ok("set -e; : >/etc/apache2/ports.conf; mkdir -p /var/log/apache2 /var/www/html
         a2enmod -q mpm_prefork authz_core cgi env alias; systemctl daemon-reload");
    let ask = "exec 3<>/dev/tcp/127.0.0.1/8088; printf \"GET /cgi/probe HTTP/1.0\\r\\n\\r\\n\" >&3; cat <&3";
    let start = || {
        machine.ok("systemctl restart apache2");
        drop(machine.start(&format!("exec bash -c '{ask}'")));
    };
    let find = probe(&machine, "cgi");
    let why = [
        "/etc/environment:1 TZ=Asia/Tokyo does not reach it: Apache, as a CGI program, does not read it",
    ];
    let place = "/etc/apache2/envvars";
    Cell { name: "CGI", start: &start, find: &find, program: "perl", why: &why, place }
        .holds(&machine);
    machine.ok("apachectl configtest");
    // A CGI program gets only those other variables of Apache that PassEnv names.
    machine.ok("echo 'export FLAVOUR=sweet' >>/etc/apache2/envvars");
    start();
    let pid = find("0");
    let provenance = |variable: &str, pid: &str| {
        let printed = machine.ok(&format!("needless origin --show-value {variable} {pid}"));
        printed.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
    };
    let story = provenance("FLAVOUR", &pid);
    assert!(story.starts_with("FLAVOUR is not set in perl["), "{story}");
    assert!(story.contains("only if PassEnv names them"), "{story}");
    let refused = machine.run(&format!("needless fix --pid {pid} --set FLAVOUR=sour --yes"));
    assert!(stderr(&refused).contains("write `PassEnv FLAVOUR`"), "{}", stderr(&refused));
    let story = provenance("COLOUR", &pid);
    assert!(story.starts_with("COLOUR is red in perl["), "{story}");
    assert!(story.contains("/etc/apache2/sites-enabled/probe.conf:7 sets it"), "{story}");
    machine
        .ok(&format!("echo 'PassEnv FLAVOUR' >>/etc/apache2/sites-enabled/probe.conf; kill {pid}"));
    start();
    let story = provenance("FLAVOUR", &find(&pid));
    assert!(story.starts_with("FLAVOUR is sweet in perl["), "{story}");
    assert!(story.contains("/etc/apache2/envvars:"), "{story}");
}

#[test]
fn a_unit_of_a_users_systemd() {
    let Some(machine) = machine("debs-launchers") else { return };
    if machine.has("dbus-daemon").is_none() || machine.has("loginctl").is_none() {
        return;
    }
    // Below /etc, where the test looks for changes.
    machine.ok("id messagebus 2>/dev/null || useradd -r messagebus
         useradd -m -d /etc/walker -u 1777 -s /bin/sh walker; install -d -o walker /run/walker
         systemctl daemon-reload; systemctl start dbus.socket; loginctl enable-linger walker");
    let up = wait(|| {
        machine.run("test -S /run/user/1777/systemd/private").status.success().then_some(())
    });
    assert!(
        up.is_some(),
        "no systemd of a user: {}",
        machine.ok("systemctl status user@1777 | cat")
    );
    let units = "/etc/walker/.config/systemd/user";
    machine.write(
        &format!("{units}/probe.service"),
        "644",
        "[Service]\nExecStart=/usr/local/bin/probe walker\n",
    );
    machine.write(&format!("{units}/probe.service.d/nice.conf"), "644", "[Service]\nNice=1\n");
    machine.write("/etc/profile.d/tz.sh", "644", "export TZ=Asia/Tokyo\n");
    machine.ok("chown -R walker: /etc/walker");
    let user = "setpriv --reuid walker --regid walker --init-groups \
                env HOME=/etc/walker XDG_STATE_HOME=/run/walker";
    let systemctl = format!("{user} XDG_RUNTIME_DIR=/run/user/1777 systemctl --user");
    machine.ok(&format!("{systemctl} daemon-reload"));
    let start = || drop(machine.ok(&format!("{systemctl} restart probe")));
    let find = probe(&machine, "walker");
    let why = ["tz.sh:1 TZ=Asia/Tokyo does not reach it: only login shells read it"];
    let place = &format!("{units}/probe.service.d/zz-needless.conf");
    let cell =
        Cell { name: "user unit", start: &start, find: &find, program: "perl", why: &why, place };
    cell.holds_for(&machine, user);
    // Root does not change the user's files.
    start();
    let pid = find("0");
    let refused = machine.run(&format!("needless fix --pid {pid} --set TZ={ZONE} --yes"));
    assert!(stderr(&refused).contains("belongs to user 1777"), "{}", stderr(&refused));
    // The variables of the user's systemd itself, and what it takes from /etc/environment.
    let own = "/etc/walker/.config/environment.d/zz-needless.conf";
    for (file, user, why) in [
        (own, user, "the user's systemd reads it"),
        ("/etc/environment", "", "environment.d links to it (99-environment.conf)"),
    ] {
        let before = machine.etc();
        machine.ok(&format!("{user} needless fix --in {file} --set TZ={ZONE} --yes"));
        machine.ok(&format!("{systemctl} daemon-reload"));
        start();
        let pid = find("0");
        assert_eq!(machine.stats(&pid), 0, "{file}");
        let story = origin(&machine, &pid);
        assert!(story.starts_with(&format!("TZ is {ZONE} in perl[")), "{story}");
        assert!(story.contains(&format!("{file}:2 sets it, and {why}")), "{story}");
        machine.ok(&format!("{user} needless undo; {systemctl} daemon-reload"));
        same(&before, &machine.etc(), file);
    }
}

/// Most services of a distribution have their own mounts. Their files are still the host's, except where
/// another /etc is mounted.
#[test]
fn units_with_mounts_of_their_own() {
    let Some(machine) = machine("debs-launchers") else { return };
    let unit = "[Service]\nExecStart=/usr/local/bin/probe closed\nPrivateTmp=yes\n\
                ProtectSystem=strict\nProtectHome=yes\nPrivateDevices=yes\n";
    machine.write("/etc/systemd/system/closed.service", "644", unit);
    let other = "[Service]\nExecStart=/usr/local/bin/probe apart\nTemporaryFileSystem=/etc\n";
    machine.write("/etc/systemd/system/apart.service", "644", other);
    machine.ok("systemctl daemon-reload");
    let start = || drop(machine.ok("systemctl restart closed"));
    let find = probe(&machine, "closed");
    let why = ["systemd, as closed.service, does not give it that variable"];
    let place = "/etc/systemd/system/closed.service.d/zz-needless.conf";
    Cell { name: "closed", start: &start, find: &find, program: "perl", why: &why, place }
        .holds(&machine);
    machine.ok("systemctl start apart");
    let pid = machine.pid_of(&format!("{WORDS} apart"), "0");
    let before = machine.etc();
    let refused = machine.run(&format!("needless fix --pid {pid} --set TZ={ZONE} --yes"));
    assert!(stderr(&refused).contains("container or another root"), "{}", stderr(&refused));
    same(&before, &machine.etc(), "apart");
}

#[test]
fn runit_and_s6() {
    let Some(machine) = machine("debs-launchers") else { return };
    if machine.has("runsvdir").is_none() || machine.has("s6-svscan").is_none() {
        return;
    }
    // The supervisors write elsewhere, because /etc is compared.
    for (name, run) in [
        ("dir", "exec 2>&1\nexec chpst -v -e ./env /usr/local/bin/probe dir"),
        ("plain", "exec 2>&1\nexec /usr/local/bin/probe plain"),
    ] {
        machine.write(&format!("/etc/sv/{name}/run"), "755", &format!("#!/bin/sh\n{run}\n"));
        machine.ok(&format!(
            "mkdir -p /etc/sv/{name}/env /run/sv/{name} /run/service
             ln -s /run/sv/{name} /etc/sv/{name}/supervise; ln -s /etc/sv/{name} /run/service/{name}"
        ));
    }
    machine.write(
        "/run/s6/six/run",
        "755",
        "#!/bin/sh\nexec s6-envdir /etc/six /usr/local/bin/probe six\n",
    );
    machine.write("/etc/six/LANG", "644", "C\n");
    drop(machine.start("exec runsvdir -P /run/service"));
    drop(machine.start("exec s6-svscan /run/s6"));
    // They restart a program that has ended.
    let start = || ();
    for (name, place) in
        [("dir", "/etc/sv/dir/env/TZ"), ("plain", "/etc/sv/plain/run"), ("six", "/etc/six/TZ")]
    {
        let find = probe(&machine, name);
        let why = ["a supervisor of run scripts does not give it that variable"];
        Cell { name, start: &start, find: &find, program: "perl", why: &why, place }
            .holds(&machine);
    }
    // The real readers read the values that were written.
    for (name, reader) in [("dir", "chpst -e /etc/sv/dir/env"), ("six", "s6-envdir /etc/six")] {
        let pid = machine.pid_of(&format!("{WORDS} {name}"), "0");
        let read = format!("env -i PATH=$PATH {reader} env | grep ^X=");
        assert_eq!(values_arrive(&machine, &format!("--pid {pid}"), &read), HARD.len());
    }
}

const OPENRC: &str = "#!/sbin/openrc-run
command=/usr/bin/perl
command_args=\"/usr/local/bin/probe openrc\"
command_background=true
pidfile=/run/probed.pid
";

#[test]
fn a_service_of_openrc() {
    let Some(machine) = machine("debs-openrc") else { return };
    if machine.has("openrc-run").is_none() {
        return;
    }
    machine.write("/etc/init.d/probed", "755", OPENRC);
    machine.write("/etc/conf.d/probed", "644", "# of probed\nTZ=Asia/Tokyo\n");
    machine.write("/etc/environment", "644", "TZ=Asia/Tokyo\n");
    // The directories that OpenRC makes when it boots a machine.
    machine.ok("cd /etc; mkdir -p /run/openrc; cd /run/openrc
        mkdir -p daemons exclusive failed hotplugged inactive init.d options scheduled started \
            starting stopping tmp wasinactive; touch softlevel");
    let start = || {
        drop(machine.ok("rc-service probed zap; TZ=UTC rc-service probed start"));
    };
    let find = probe(&machine, "openrc");
    let why = [
        "/etc/conf.d/probed:2",
        "not exported",
        "/etc/environment:1 TZ=Asia/Tokyo does not reach it: OpenRC, as probed, does not read it",
    ];
    let place = "/etc/conf.d/probed";
    Cell { name: "OpenRC", start: &start, find: &find, program: "perl", why: &why, place }
        .holds(&machine);
}

/// The environment of a job was saved when it was submitted: there is no file to change.
#[test]
fn a_job_of_at() {
    let Some(machine) = machine("debs-launchers") else { return };
    if machine.has("atd").is_none() {
        return;
    }
    machine.ok(
        "set -e; cd /var/spool/cron; mkdir -p atjobs atspool; touch atjobs/.SEQ; chmod 600 atjobs/.SEQ
         chown -R daemon:daemon atjobs atspool; chmod 1770 atjobs atspool
         systemctl daemon-reload; systemctl start atd",
    );
    machine.write(
        "/etc/systemd/system/atd.service.d/tz.conf",
        "644",
        "[Service]\nEnvironment=TZ=UTC\n",
    );
    machine.ok("systemctl daemon-reload; systemctl restart atd");
    // Debian's PAM service of at has pam_env, which does not reach the job.
    machine.write("/etc/environment", "644", "TZ=Asia/Tokyo\n");
    let submit = |variables: &str, not: &str| {
        machine.ok(&format!("echo 'exec /usr/local/bin/probe at' | {variables} at now"));
        machine.pid_of(&format!("{WORDS} at"), not)
    };
    let pid = submit("", "0");
    assert!(machine.stats(&pid) > 50);
    let story = origin(&machine, &pid);
    assert!(story.starts_with("TZ is not set in perl["), "{story}");
    for why in [
        "at gives a job the environment of the user who submitted it, and passes on nothing of its own",
        "tz.conf:2 TZ=UTC does not reach it: atd.service has it, and at gives a job the environment",
        "/etc/environment:1 TZ=Asia/Tokyo does not reach it: at gives a job the environment of the user who submitted it",
    ] {
        assert!(story.contains(why), "{why:?} in {story}");
    }
    let before = machine.etc();
    let refused = machine.run(&format!("needless fix --pid {pid} --set TZ={ZONE} --yes"));
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        stderr(&refused).contains("submit it again with the variable set"),
        "{}",
        stderr(&refused)
    );
    same(&before, &machine.etc(), "at");
    machine.ok(&format!("kill {pid}"));
    let fresh = submit(&format!("env TZ={ZONE}"), &pid);
    assert_eq!(machine.stats(&fresh), 0);
    let story = origin(&machine, &fresh);
    assert!(story.starts_with(&format!("TZ is {ZONE} in perl[")), "{story}");
    assert!(story.contains("/var/spool/cron/atjobs/="), "{story}");
    assert!(!story.contains("inherited"), "{story}");
}
