#!/bin/sh
# pgbench at work on the PostgreSQL that is about to start, and its end.
ip link set lo up
mkdir -p @/run
chmod 777 @/run
{
    until pg_isready -q -h @/run; do sleep 0.1; done
    pgbench -q -i -U postgres -h @/run postgres
    pgbench -n -t 100 -c 2 -U postgres -h @/run postgres
    kill -INT "$(head -n 1 @/db/postmaster.pid)"
} >/dev/null 2>&1 &
