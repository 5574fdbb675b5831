#!/bin/sh
# A Perl program that converts the time of each of 100,000 lines.
# needs: perl
# better: TZ is set.
# look: finding tz-unset
set -eu
prepare() { seq 1700000000 1700099999 >lines; }
run() { perl -MPOSIX -ne 'print strftime("%F %T\n", localtime $_)' lines >/dev/null; }
better() { TZ=UTC run; }
"$@"
