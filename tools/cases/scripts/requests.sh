#!/bin/sh
# Three hundred requests to the server that is about to start, and its end.
ip link set lo up
{
    when 8099
    seq 300 | sed 's|.*|url = http://127.0.0.1:8099/a/b/c/f.html|' >@/urls
    curl -s -o /dev/null -K @/urls
    kill -TERM "$(cat @/server.pid)"
} >/dev/null 2>&1 &
