#!/bin/sh
# cargo with nothing to do, ten times.
# needs: cargo
# better: cargo itself and not its launcher.
# look: program rustup
# note: The launcher is a program of its own in the account
set -eu
prepare() { cargo init -q --vcs none --name hello app && cd app && cargo build -q --offline; }
run() { cd app && for _ in 1 2 3 4 5 6 7 8 9 10; do cargo build -q --offline; done; }
better() { PATH=$(dirname "$(rustup which cargo)"):$PATH run; }
"$@"
