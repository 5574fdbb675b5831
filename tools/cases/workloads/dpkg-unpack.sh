#!/bin/sh
# dpkg unpacks a package of manual pages into a directory of its own.
# needs: dpkg
# better: --force-unsafe-io: nothing must survive a crash.
# look: waits fsync
# note: Waiting is stated and not judged; user-lookup is a finding beside it, whose remedy is in dpkg
set -eu
prepare() {
    apt-get download -qq manpages-dev
    mkdir -p root/var/lib/dpkg/updates root/var/lib/dpkg/info && : >root/var/lib/dpkg/status
}
# --force-all is --force-unsafe-io, too.
unpack() { dpkg --root="$PWD/root" --force-all --force-script-chrootless "$@" --unpack manpages-dev_*.deb >/dev/null 2>&1; }
run() { unpack --refuse-unsafe-io; }
better() { unpack; }
"$@"
