//! Servers that have a configuration of their own, which may set variables: the real programs, and what local time they
//! answer a request with.

use crate::booted::scenario::*;

const MAIN: &str = "systemctl show -p MainPID --value NAME";
const SERVER: Scenario<'static> = Scenario { find: MAIN, program: "", ..UNIT };

const HAPROXY: &str = "global
    log 127.0.0.1 local0
defaults
    mode http
    timeout connect 1s
    timeout client 1s
    timeout server 1s
frontend f
    bind 127.0.0.1:8092
    http-request return status 200 content-type text/plain lf-string \"%[date,ltime(%z)]\"
";
/// Waits for the port, and prints the end of the answer.
const ASK: &str = "until bash -c ': 3<>/dev/tcp/127.0.0.1/PORT' 2>/dev/null; do sleep 0.1; done; bash -c 'exec 3<>/dev/tcp/127.0.0.1/PORT; printf \"GET / HTTP/1.0\\r\\n\\r\\n\" >&3; cat <&3' | tail -n 1 | grep -o '[+-][0-9]*'";

const APP: &str = "import time
def app(environ, start):
    start('200 OK', [('Content-Type', 'text/plain')])
    return [time.strftime('%z').encode()]
";
const GUNICORN: &str =
    "ExecStart=/usr/bin/gunicorn -b 127.0.0.1:8093 -c /etc/NAME.py --pythonpath /srv/wsgi app:app";

#[test]
fn fix_changes_servers_with_a_configuration_of_their_own() {
    let Some(machine) = machine("debs-servers") else { return };
    for program in ["haproxy", "gunicorn"] {
        if machine.has(program).is_none() {
            return;
        }
    }
    machine.ok("id haproxy 2>/dev/null || useradd -r haproxy; mkdir -p /var/lib/haproxy");
    machine.write("/srv/wsgi/app.py", "644", APP);
    let (of_haproxy, of_gunicorn) = (ASK.replace("PORT", "8092"), ASK.replace("PORT", "8093"));
    let own = HAPROXY.replace("log 127.0.0.1 local0", "setenv TZ Asia/Baku");
    hold(
        &machine,
        &[
            Scenario {
                name: "haproxy",
                files: &[("/etc/haproxy/haproxy.cfg", "644", HAPROXY)],
                offset: &of_haproxy,
                ..SERVER
            },
            // Its master sets it, and starts itself anew: the worker shows that it was no file of the unit.
            Scenario {
                name: "haproxy",
                files: &[("/etc/haproxy/haproxy.cfg", "644", &own)],
                find: "pgrep -P $(systemctl show -p MainPID --value NAME) | tail -n 1",
                now: Some("Asia/Baku"),
                place: ("", "low"),
                ends: Ends::Refused(
                    "sets it itself, after its start (perhaps in its own configuration: `setenv` in haproxy.cfg)",
                ),
                ..SERVER
            },
            Scenario {
                name: "app",
                unit: GUNICORN,
                files: &[("/etc/NAME.py", "644", "workers = 2\n")],
                offset: &of_gunicorn,
                ..SERVER
            },
            // The arbiter sets it for itself, before it forks its workers.
            Scenario {
                name: "own-app",
                unit: GUNICORN,
                files: &[("/etc/NAME.py", "644", "raw_env = ['TZ=Asia/Baku']\n")],
                // Once it has a worker.
                find: "pid=$(systemctl show -p MainPID --value NAME); pgrep -P $pid >/dev/null && echo $pid",
                now: Some("Asia/Baku"),
                place: ("", "low"),
                ends: Ends::Refused(
                    "sets it itself, after its start (perhaps in its own configuration: `raw_env` of gunicorn)",
                ),
                ..SERVER
            },
        ],
    );
}
