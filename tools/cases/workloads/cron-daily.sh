#!/bin/sh
# The daily jobs of Debian's cron directory, as cron runs them: dpkg, logrotate, man-db.
# needs: run-parts mountpoint
set -eu
prepare() { :; }
# What they change is in memory. apt's job waits for a random time first.
run() {
    mountpoint -q "$PWD/layer" || {
        mkdir -p layer && mount -t tmpfs layer layer && mkdir layer/upper layer/work
        mount -t overlay overlay -o "lowerdir=/var,upperdir=$PWD/layer/upper,workdir=$PWD/layer/work" /var
    }
    run-parts --regex '^(dpkg|logrotate|man-db)$' /etc/cron.daily
}
"$@"
