#!/bin/sh
# Python imports Flask.
# needs: python3
# note: How Python looks for modules
set -eu
prepare() { python3 -c 'import flask'; }
run() { python3 -c 'import flask'; }
"$@"
