#!/bin/sh
# pytest of ten files.
# needs: pytest
# note: How Python looks for modules
set -eu
prepare() { for n in $(seq 10); do echo "def test_$n(): pass" >"test_$n.py"; done; }
run() { pytest -q >/dev/null; }
"$@"
