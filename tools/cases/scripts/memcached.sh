#!/bin/sh
# A thousand values put into memcached and asked for, over four connections, and its end.
ip link set lo up
{
    when 8099
    perl -MIO::Socket::INET -e '
        for my $c (1..4) {
            my $s = IO::Socket::INET->new("127.0.0.1:8099");
            for my $n (1..250) {
                print $s "set k$c-$n 0 0 5\r\nvalue\r\n";
                <$s>;
                print $s "get k$c-$n\r\n";
                <$s> for 1..3
            }
        }'
    kill -TERM "$(cat @/server.pid)"
} >/dev/null 2>&1 &
