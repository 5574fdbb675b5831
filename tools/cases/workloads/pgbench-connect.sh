#!/bin/sh
# PostgreSQL, 500 queries, a connection for each.
# needs: pgbench postgres
# better: one connection is kept.
# look: started
set -eu
pgbench() { exec sh "${0%/*}/pgbench.sh" "$@"; }
prepare() { pgbench prepare; }
run() { pgbench serve -S -C -c 1 -t 500; }
better() { pgbench serve -S -c 1 -t 500; }
"$@"
