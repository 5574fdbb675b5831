//! Daemons of distributions, which fork, write over their environment, or are started by helpers: the place is the
//! drop-in all the same, and the new process shows it.

use crate::booted::machine::Machine;
use crate::booted::scenario::*;
use crate::common::{program, skipped, stdout};

const MAIN: &str = "systemctl show -p MainPID --value NAME";
const PLACE: &str = "/etc/systemd/system/NAME.service.d/zz-needless.conf";
const DAEMON: Scenario<'static> = Scenario { find: MAIN, program: "", ..UNIT };

/// The daemons are unpacked, not installed: what their packages would have set up.
fn prepare(machine: &Machine) {
    machine.ok(
        "exec 2>&1; mkdir -p /run/sshd /run/php /var/log/nginx /var/lib/nginx /root/.ssh
         for user in messagebus dnsmasq postfix syslog; do id $user || useradd -r $user; done
         getent group postdrop || groupadd -r postdrop; getent group adm || groupadd -r adm
         chmod 700 /root/.ssh; ssh-keygen -A; usermod -p '*' root; rm -f /root/.ssh/t*
         ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/t; cp /root/.ssh/t.pub /root/.ssh/authorized_keys
         systemctl daemon-reload",
    );
    let site = "server { listen 127.0.0.1:8089; root /usr/share/nginx/html; }\n";
    machine.write("/etc/nginx/conf.d/probe.conf", "644", site);
    let echo = "service echo\n{\n type = INTERNAL\n id = echo-stream\n socket_type = stream\n protocol = tcp\n user = root\n wait = no\n}\n";
    machine.write("/etc/xinetd.d/echo", "644", echo);
    machine.write("/etc/dnsmasq.d/probe.conf", "644", "port=5399\nno-resolv\n");
    let main = "compatibility_level = 3.6\ninet_interfaces = loopback-only\nmydestination =\n";
    machine.write("/etc/postfix/main.cf", "644", main);
    let site = "Listen 127.0.0.1:8090\nServerName localhost\n";
    machine.write("/etc/apache2/sites-enabled/probe.conf", "644", site);
    machine.ok(": >/etc/apache2/ports.conf; mkdir -p /var/log/apache2 /var/www/html
         a2enmod -q mpm_prefork authz_core env alias");
    machine.ok("[ -e /etc/postfix/master.cf ] || cp /usr/share/postfix/master.cf.dist /etc/postfix/master.cf
         postfix set-permissions 2>/dev/null; newaliases 2>/dev/null; true");
}

/// The offset in the last line of nginx's log, of a request that is made for it.
const NGINX: &str = "bash -c 'exec 3<>/dev/tcp/127.0.0.1/8089; printf \"GET / HTTP/1.0\\r\\n\\r\\n\" >&3; cat <&3' >/dev/null
    tail -n 1 /var/log/nginx/access.log | grep -o '[+-][0-9][0-9]00'";
/// The log of php-fpm has local times without an offset.
const FPM: &str = r#"t=$(tail -n 1 /var/log/php*-fpm.log | sed 's/^\[\([^]]*\)\].*/\1/' | tr - ' ')
    perl -e 'my $d = ($ARGV[0] - time) / 3600; printf "%+03d00\n", int($d + ($d > 0 ? 0.5 : -0.5))' $(date -u -d "$t" +%s)"#;
/// sshd hands its own TZ to its sessions.
const SSHD: &str =
    "ssh -i /root/.ssh/t -o StrictHostKeyChecking=no -o LogLevel=ERROR root@127.0.0.1 date +%z";

/// The workers of nginx have what its own configuration sets, and its master shows nothing of it.
const NGINX_ENV: Scenario<'static> = Scenario {
    name: "nginx",
    files: &[("/etc/nginx/modules-enabled/99-tz.conf", "644", "env TZ=Asia/Baku;\n")],
    offset: NGINX,
    find: "pgrep -f '^nginx: worker' | head -n 1",
    // Its log has read the zone before.
    truth: None,
    now: Some("Asia/Baku"),
    answer: &[
        "the program changed it after its start",
        "perhaps in its own configuration: `env` in nginx.conf",
    ],
    never: &["systemd, as nginx"],
    place: ("", "low"),
    ends: Ends::Refused(
        "sets it itself, after its start (perhaps in its own configuration: `env` in nginx.conf)",
    ),
    ..DAEMON
};

#[test]
fn fix_changes_daemons_of_a_distribution() {
    let Some(machine) = machine("debs debs-apache debs-daemons") else { return };
    let Some(fpm) = php_fpm(&machine) else { return };
    prepare(&machine);
    // Debian 13's xinetd has a unit instead of an init script, and its postfix one unit instead of one that starts others.
    let is_so = |test: &str| machine.run(test).status.success();
    let xinetd =
        if is_so("test -e /lib/systemd/system/xinetd.service") { "high" } else { "medium" };
    let several = !is_so("grep -q '^Conflicts=postfix@-' /lib/systemd/system/postfix.service");
    hold(
        &machine,
        &[
            Scenario { name: "nginx", offset: NGINX, ..DAEMON },
            NGINX_ENV,
            Scenario {
                name: "dnsmasq",
                // Its helper has the program's name in a variable.
                place: (PLACE, "medium"),
                ..DAEMON
            },
            Scenario {
                name: "ssh",
                offset: SSHD,
                says: &["Restarting ssh.service may end sessions"],
                ..DAEMON
            },
            Scenario { name: &fpm, offset: FPM, ..DAEMON },
            // Of an init script: systemd knows no main process.
            Scenario {
                name: "xinetd",
                find: "cat /run/xinetd.pid 2>/dev/null || systemctl show -p MainPID --value xinetd",
                place: (PLACE, xinetd),
                ..DAEMON
            },
            // It sets one for itself where there is none.
            Scenario {
                name: "rsyslog",
                now: Some("/etc/localtime"),
                place: (PLACE, "medium"),
                ..DAEMON
            },
            // Its master has a new environment, into which main.cf lets TZ (import_environment).
            Scenario {
                name: if several { "postfix@-" } else { "postfix" },
                find: "tr -d ' ' </var/spool/postfix/pid/master.pid",
                place: (PLACE, if several { "low" } else { "medium" }),
                ..DAEMON
            },
            // Its helper sources that file, which sets the variable without exporting it.
            Scenario {
                name: "dnsmasq",
                files: &[("/etc/default/dnsmasq", "644", "TZ=Asia/Baku\n")],
                answer: &["/etc/default/dnsmasq:1 sets it without `export`"],
                place: ("/etc/default/dnsmasq", "medium"),
                ..DAEMON
            },
            Scenario { name: "apache2", place: ("/etc/apache2/envvars", "high"), ..DAEMON },
        ],
    );
    if several {
        fix_says_that_a_unit_only_starts_others(&machine);
    }
}

/// The unit of php-fpm, where all the daemons are installed.
fn php_fpm(machine: &Machine) -> Option<String> {
    for name in ["nginx", "dnsmasq", "xinetd", "postfix", "rsyslogd", "apachectl"] {
        machine.has(name)?;
    }
    // Each Debian has one version, in the name of the program and of the unit: php-fpm8.2, php8.2-fpm.
    let fpm = machine.run("basename /usr/sbin/php-fpm[0-9]* | sed 's/php-fpm\\(.*\\)/php\\1-fpm/'");
    let fpm = stdout(&fpm).trim().to_owned();
    if fpm.contains('*') {
        skipped("php-fpm is not installed (scripts/install test fetches it)");
        return None;
    }
    program("sshd").map(|_| fpm)
}

/// Nothing of the unit `postfix` itself runs.
fn fix_says_that_a_unit_only_starts_others(machine: &Machine) {
    let before = files(machine);
    let said = machine.ok(&format!("systemctl start postfix; needless fix --unit postfix --set TZ={ZONE} {YES} --restart 2>&1 || echo rc $?"));
    assert!(
        said.contains("postfix.service is active and runs no process")
            && said.contains("postfix@-.service"),
        "{said}"
    );
    assert!(said.ends_with("rc 2\n") && !said.contains("written: change"), "{said}");
    same(&before, &files(machine), "postfix");
}

const INIT: &str = "#!/bin/sh
### BEGIN INIT INFO
# Provides: NAME
# Default-Start: 2 3 4 5
### END INIT INFO
NAME=NAME
DEFAULTS
case $1 in
start) start-stop-daemon --start --background --make-pidfile --pidfile /run/NAME.pid --startas /usr/local/bin/probe -- NAME ;;
stop) start-stop-daemon --stop --pidfile /run/NAME.pid ;;
esac
";

const STARTER: &str = "#!/bin/sh\nBEFORE/usr/local/bin/probe NAME &\necho $! >/run/NAME.pid\n";

/// Programs of an administrator: scripts of init, starters that fork.
#[test]
fn fix_changes_daemons_that_a_script_starts() {
    let Some(machine) = machine("") else { return };
    init_scripts(&machine);
    starters_that_fork(&machine);
}

fn init_scripts(machine: &Machine) {
    let sources = INIT.replace("DEFAULTS", "[ -r /etc/default/$NAME ] && . /etc/default/$NAME");
    let nothing = INIT.replace("DEFAULTS\n", "");
    hold(
        machine,
        &[
            // Its script sources a file: the line there lacks `export`.
            Scenario {
                name: "unexported",
                files: &[
                    ("/etc/init.d/NAME", "755", &sources),
                    ("/etc/default/NAME", "644", "TZ=UTC\n"),
                ],
                answer: &["/etc/default/unexported:1 sets it without `export`"],
                story: &["to change it: init script, /etc/default/unexported"],
                // start-stop-daemon is no script: what it reads is not known, and that is said.
                last: "not looked at: - programs of the unit that are not shell scripts, and what they read",
                place: ("/etc/default/unexported", "medium"),
                ..UNIT
            },
            Scenario {
                name: "exported",
                files: &[
                    ("/etc/init.d/NAME", "755", &sources),
                    ("/etc/default/NAME", "644", "export TZ=UTC\n"),
                ],
                truth: Some("UTC"),
                answer: &["/etc/default/exported:1 sets it"],
                place: ("/etc/default/exported", "medium"),
                ..UNIT
            },
            Scenario {
                name: "sysv",
                files: &[("/etc/init.d/NAME", "755", &nothing)],
                place: (PLACE, "medium"),
                ..UNIT
            },
        ],
    );
}

/// The shell that starts the program ends.
fn starters_that_fork(machine: &Machine) {
    let (plain, bare) = (STARTER.replace("BEFORE", ""), STARTER.replace("BEFORE", "env -u TZ "));
    let forks = Scenario {
        name: "forks",
        unit: "Type=forking\nPIDFile=/run/NAME.pid\nExecStart=/usr/local/bin/NAME-start",
        files: &[("/usr/local/bin/NAME-start", "755", &plain)],
        place: (PLACE, "medium"),
        says: &["It is not certain that the new process gets it ("],
        ..UNIT
    };
    hold(
        machine,
        &[
            forks,
            Scenario {
                name: "bare",
                files: &[("/usr/local/bin/NAME-start", "755", &bare)],
                ends: Ends::TakenBack("does not have it"),
                ..forks
            },
            // Without a restart there is no look: the doubt is said, and the way out.
            Scenario {
                name: "unlooked",
                fix: "--unit NAME",
                says: &["not done by a tool"],
                ends: Ends::Refused(
                    "with --restart it is tried, and taken back if it does not arrive",
                ),
                ..forks
            },
        ],
    );
}
