#!/bin/sh
# git status of 20,000 files.
# needs: git
# note: The 20,000 stats are 20,000 questions
set -eu
prepare() {
    git init -q . && seq 20000 | xargs -n 500 touch
    git add -A && git -c user.name=a -c user.email=a@b commit -qm all
}
run() { git status >/dev/null; }
"$@"
