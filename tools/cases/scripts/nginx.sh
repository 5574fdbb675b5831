#!/bin/sh
# nginx without a cache of open files (bad), with one (good), and with one and a log (logged). Its directories for
# bodies exist only where it is installed.
chmod 755 .
mkdir -p www/a/b/c
seq 100 >www/a/b/c/f.html
for arm in bad good logged; do
    if [ $arm = bad ]; then cache=; else cache='open_file_cache max=100;'; fi
    if [ $arm = logged ]; then log=@/access.log; else log=off; fi
    cat >$arm.conf <<END
daemon off;
master_process off;
pid @/server.pid;
error_log @/error.log;
events {}
http {
    client_body_temp_path @/t;
    proxy_temp_path @/t;
    fastcgi_temp_path @/t;
    uwsgi_temp_path @/t;
    scgi_temp_path @/t;
    access_log $log;
    root @/www;
    server {
        listen 127.0.0.1:8099;
        $cache
    }
}
END
done
