#!/bin/sh
# A MariaDB of its own, and what a client writes into it: a thousand rows, each read back by an index.
mariadb-install-db --no-defaults --datadir=@/db --user=nobody --auth-root-authentication-method=normal \
    --skip-test-db >/dev/null
{
    echo 'create database d; use d; create table t(a int primary key auto_increment, b varchar(20), key(b));'
    seq 1000 | sed 's/.*/insert into t(b) values("x&");/'
    seq 1000 | sed 's/.*/select a from t where b = "x&";/'
    echo 'update t set b = concat(b, a); select count(*) from t;'
} >load.sql
