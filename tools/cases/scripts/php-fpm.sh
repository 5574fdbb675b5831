#!/bin/sh
# php-fpm with two workers.
mkdir www
echo '<?php function answer() { return json_encode(range(1, 20)); }' >lib.php
echo '<?php require_once __DIR__."/lib.php"; echo answer();' >index.php
chmod 644 lib.php index.php
cat >fpm.conf <<'END'
[global]
error_log = @/error.log
pid = @/server.pid
[www]
user = nobody
group = nogroup
listen = 127.0.0.1:8099
pm = static
pm.max_children = 2
END
