#!/bin/sh
# php-fpm: 300 requests of a page with 80 includes that asks 50 times for files that do not exist.
# needs: php-fpm cgi-fcgi
# better: the page does not ask for files that do not exist.
# look: fact /opt/none/
# note: Its fact beside it is larger: 24,138 opens of included files, anew for each request, because this php-fpm has no opcache
# shellcheck disable=SC2016 # the dollars are of PHP
set -eu
prepare() {
    mkdir www
    for n in $(seq 80); do echo '<?php' >"www/i$n.php"; done
    for arm in run better; do
        {
            echo '<?php for ($i = 1; $i <= 80; $i++) include __DIR__."/i$i.php";'
            [ $arm = better ] || echo 'for ($i = 0; $i < 50; $i++) file_exists("/opt/none/$i");'
        } >www/$arm.php
    done
    cat >fpm.conf <<END
[global]
error_log = $PWD/error.log
pid = $PWD/fpm.pid
[www]
user = nobody
group = nogroup
listen = 127.0.0.1:8099
pm = static
pm.max_children = 2
END
    chmod -R a+rX .
}
serve() {
    rm -f fpm.pid
    php-fpm -F -y "$PWD/fpm.conf" &
    until [ -s fpm.pid ]; do sleep 0.1; done
    for _ in $(seq 300); do
        SCRIPT_FILENAME=$PWD/www/$1.php REQUEST_METHOD=GET cgi-fcgi -bind -connect 127.0.0.1:8099 >/dev/null
    done
    kill "$(cat fpm.pid)"
    wait
}
run() { serve run; }
better() { serve better; }
"$@"
