#!/bin/sh
# PostgreSQL, 2,000 transactions of pgbench.
# needs: pgbench postgres
# note: A look whether more has come
set -eu
prepare() {
    mkdir run && chmod 777 . run
    su nobody -s /bin/sh -c "PATH=$PATH; initdb -U postgres -D $PWD/db >/dev/null"
}
serve() {
    su nobody -s /bin/sh -c "PATH=$PATH; exec postgres -D $PWD/db -k $PWD/run -h ''" 2>/dev/null &
    until pg_isready -q -h "$PWD/run"; do sleep 0.1; done
    [ -e filled ] || pgbench -q -i -U postgres -h "$PWD/run" postgres 2>/dev/null
    touch filled
    pgbench -n -U postgres -h "$PWD/run" "$@" postgres >/dev/null 2>&1
    kill -INT "$(head -n 1 db/postmaster.pid)"
    wait
}

run() { serve -c 4 -t 500; }
"$@"
