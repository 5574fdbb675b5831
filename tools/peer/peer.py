"""Shared by the scripts of this folder: Debian's packages without installing them, and programs run as nobody."""

import os
import signal
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
PEER = TOP / "target/peer"
NOBODY = 65534
IS_ROOT = os.geteuid() == 0


def say(text):
    print(f"{Path(sys.argv[0]).name}: {text}", file=sys.stderr, flush=True)


def call(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, **options)


def apt(*words):
    """apt-get, in target/peer and with lists of its own, which have the sources too: this machine's are left alone."""
    own = [f"-oDir::Etc::SourceList={PEER}/sources.list", "-oDir::Etc::SourceParts=-", f"-oDir::State::Lists={PEER}/lists",
           f"-oDir::Cache={PEER}/cache", "-oAPT::Sandbox::User=root"]
    if not (PEER / "sources.list").exists():
        (PEER / "lists/partial").mkdir(parents=True, exist_ok=True)
        (PEER / "cache/archives/partial").mkdir(parents=True, exist_ok=True)
        wanted = "$(ORIGIN) $(COMPONENT) $(REPO_URI) $(RELEASE)"
        known = call("apt-get", "indextargets", "--format", wanted, "Created-By: Packages", stdout=subprocess.PIPE)
        fields = [line.split() for line in known.stdout.decode().splitlines()]
        # Mirrors of the security archive may lack sources.
        fields = [line for line in fields if line[:2] == ["Debian", "main"] and not line[3].endswith("-security")]
        places = {f"{line[2]} {line[3]} main\n" for line in fields}
        (PEER / "new").write_text("".join(f"{kind} {place}" for place in sorted(places) for kind in ("deb", "deb-src")))
        (PEER / "new").rename(PEER / "sources.list")
    update = lambda: call("apt-get", "-q", *own, "update", stdout=sys.stderr)
    fetch = lambda: call("apt-get", "-q", *own, *words, stdout=sys.stderr, cwd=PEER)
    if not any((PEER / "lists").glob("*Sources*")):
        update()
    try:
        fetch()
    except subprocess.CalledProcessError:
        # Old lists name files that the mirror no longer has.
        update()
        fetch()


def run(command, place, out, err, limit, as_root=False, environment=None):
    """Runs a program in the folder `place`, as nobody unless `as_root`; its output goes to two files. Returns its
    status, None after `limit` seconds. What it leaves behind in its session ends, too."""
    user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if IS_ROOT and not as_root else {}
    plain = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC", "HOME": str(place)}
    child = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=place,
                             env=plain | (environment or {}), start_new_session=True, **user)
    try:
        return child.wait(limit)
    except subprocess.TimeoutExpired:
        return None
    finally:
        # A session that we began: nobody else's processes are in it.
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()
