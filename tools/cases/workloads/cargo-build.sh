#!/bin/sh
# cargo builds a small program with nothing built before.
# needs: cargo
# note: realpath, in the linker driver and in rustc
set -eu
prepare() { cargo init -q --vcs none --name hello app; }
run() { rm -rf app/target && cd app && cargo build -q --offline; }
"$@"
