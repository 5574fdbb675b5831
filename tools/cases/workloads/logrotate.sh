#!/bin/sh
# logrotate reads its configuration.
# needs: logrotate
# better: TZ is set.
# look: finding tz-unset
# note: Too little to be measured
set -eu
prepare() { :; }
run() { logrotate -d /etc/logrotate.conf >/dev/null 2>&1; }
better() { TZ=UTC run; }
"$@"
