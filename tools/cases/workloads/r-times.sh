#!/bin/sh
# R formats the time of day 1,000 times.
# needs: Rscript
# better: TZ is set.
# look: finding tz-unset
# note: Too little to be measured
set -eu
prepare() { :; }
run() { Rscript -e 'for (i in 1:1000) x <- format(Sys.time())'; }
better() { TZ=UTC run; }
"$@"
