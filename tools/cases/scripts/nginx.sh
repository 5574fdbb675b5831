#!/bin/sh
# nginx with a log and a cache of open files. Its directories for bodies exist only where it is installed.
mkdir -p www/a/b/c
seq 100 >www/a/b/c/f.html
cat >good.conf <<'END'
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
    access_log @/access.log;
    root @/www;
    open_file_cache max=100;
    server { listen 127.0.0.1:8099; }
}
END
