#!/bin/sh
# nginx with the configuration of its package, 30,000 requests on kept connections.
# needs: nginx ab
# better: open_file_cache is on.
# look: finding nginx-open-files
set -eu
prepare() {
    mkdir -p www logs
    echo '<p>hello</p>' >www/index.html
    for arm in run better; do
        cat >$arm.conf <<END
daemon off;
pid $PWD/nginx.pid;
error_log $PWD/logs/error.log;
worker_processes 1;
events {}
http {
    client_body_temp_path $PWD/t;
    proxy_temp_path $PWD/t;
    fastcgi_temp_path $PWD/t;
    uwsgi_temp_path $PWD/t;
    scgi_temp_path $PWD/t;
    access_log $PWD/logs/access.log;
    root $PWD/www;
    server { listen 127.0.0.1:8099; location / { try_files \$uri \$uri/ =404; } }
    $([ $arm = run ] || echo 'open_file_cache max=100; open_file_cache_errors on;')
}
END
    done
    chmod -R a+rX .
}
serve() {
    rm -f nginx.pid
    nginx -c "$PWD/$1.conf" &
    until [ -s nginx.pid ]; do sleep 0.05; done
    ab -q -k -c 4 -n 30000 http://127.0.0.1:8099/index.html >/dev/null
    kill -QUIT "$(cat nginx.pid)"
    wait
}
run() { serve run; }
better() { serve better; }
"$@"
