#!/bin/sh
# redis with 100,000 commands of its benchmark.
# needs: redis-check-rdb redis-benchmark redis-cli
set -eu
# The server is the program that checks its files, under another name.
prepare() { ln -s "$(command -v redis-check-rdb)" redis-server; }
run() {
    ./redis-server --port 8099 --bind 127.0.0.1 --save '' --dir "$PWD" >/dev/null &
    until redis-cli -p 8099 ping >/dev/null 2>&1; do sleep 0.05; done
    redis-benchmark -p 8099 -q -n 100000 -t get >/dev/null
    redis-cli -p 8099 shutdown nosave
    wait
}
"$@"
