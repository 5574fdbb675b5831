#!/bin/sh
# apt-get check and apt-cache policy.
# needs: apt-get apt-cache
# note: Lists that may be there
set -eu
prepare() { :; }
run() { apt-get check >/dev/null 2>&1; apt-cache policy >/dev/null; }
"$@"
