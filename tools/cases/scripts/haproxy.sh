#!/bin/sh
# HAProxy, which answers every request itself.
cat >proxy.conf <<'END'
defaults
    mode http
    timeout client 5s
    timeout server 5s
    timeout connect 5s
frontend all
    bind 127.0.0.1:8099
    http-request return status 200 content-type text/plain string x
END
