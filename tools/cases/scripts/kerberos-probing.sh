#!/bin/sh
# A database, and a client that connects to it forty times.
rm -rf db
mkdir -m 700 db
chmod 755 .
chown nobody db
here=$(pwd)
(
    cd /
    setpriv --reuid nobody --regid nogroup --clear-groups \
        initdb -U postgres -D "$here/db" --locale C -A trust --no-sync >/dev/null
)
for _ in $(seq 40); do printf '%s\n' '\c postgres postgres 127.0.0.1 5432'; done >again.sql
