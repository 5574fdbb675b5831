#!/bin/sh
# Python imports pandas.
# needs: python3
# note: How Python looks for modules
set -eu
prepare() { python3 -c 'import pandas'; }
run() { python3 -c 'import pandas'; }
"$@"
