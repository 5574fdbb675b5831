#!/bin/sh
# The compiler of TypeScript prints its version.
# needs: npm
set -eu
prepare() { HOME=$PWD npm install --silent --no-fund --no-audit typescript; }
run() { node_modules/.bin/tsc --version >/dev/null; }
"$@"
