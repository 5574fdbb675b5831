#!/bin/sh
# One program that asks the name server three hundred times, and the end of the server.
own /etc
ip link set lo up
echo 'nameserver 127.0.0.1' >/etc/resolv.conf
{
    until perl -e 'exit !gethostbyname("api.example.test.")'; do sleep 0.05; done
    perl -e 'gethostbyname("api.example.test.") for 1..300'
    kill -TERM "$(cat @/server.pid)"
} >/dev/null 2>&1 &
