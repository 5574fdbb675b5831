// Healthy programs that serve: databases under load, web servers and runtimes in steady state. Each listens
// on a loopback interface of its own, answers some hundred or thousand requests and is ended by its number.

/// Files of the network's servers.
const WWW: &str = "mkdir -p www/a/b/c; seq 100 >www/a/b/c/f.html";

/// An application that includes a file and answers.
const PHP: &str = "mkdir www; echo '<?php function answer() { return json_encode(range(1, 20)); }' >lib.php; echo '<?php require_once __DIR__.\"/lib.php\"; echo answer();' >router.php";

/// A PostgreSQL of its own, in which pgbench is at work.
const POSTGRES: &str = "rm -rf db; mkdir -m 700 db; chown nobody db; D=$(pwd); cd /; setpriv --reuid nobody --regid nogroup --clear-groups initdb -U postgres -D $D/db --locale C -A trust --no-sync >/dev/null; cd $D";
const PGBENCH: &str = "ip link set lo up; mkdir -p @/run; chmod 777 @/run; { until pg_isready -q -h @/run; do sleep 0.1; done; \
     pgbench -q -i -U postgres -h @/run postgres; pgbench -n -t 100 -c 2 -U postgres -h @/run postgres; kill -INT $(head -n 1 @/db/postmaster.pid); } >/dev/null 2>&1 & helpers=";

/// A MariaDB of its own, and a client that writes a thousand rows and reads each back by an index.
const MARIADB: &str = "mariadb-install-db --no-defaults --datadir=@/db --user=nobody --auth-root-authentication-method=normal --skip-test-db >/dev/null; \
     { echo 'create database d; use d; create table t(a int primary key auto_increment, b varchar(20), key(b));'; seq 1000 | sed 's/.*/insert into t(b) values(\"x&\");/'; seq 1000 | sed 's/.*/select a from t where b = \"x&\";/'; echo 'update t set b = concat(b, a); select count(*) from t;'; } >load.sql";
const QUERIES: &str = "ip link set lo up; { when 8099; mariadb --no-defaults -h 127.0.0.1 -P 8099 -u root <@/load.sql; kill -TERM $(cat @/db/pid); } >/dev/null 2>&1 & helpers=";

/// Redis is one program with many names.
const REDIS: &str = "ln -s $(command -v redis-check-rdb) redis-server";
const COMMANDS: &str = "ip link set lo up; { when 8099; redis-benchmark -p 8099 -n 1000 -c 10 -q -t set,get,incr,lpush,lrange_100; redis-cli -p 8099 shutdown; } >/dev/null 2>&1 & helpers=";

/// A thousand values put into memcached and asked for, over four connections.
const VALUES: &str = "ip link set lo up; { when 8099; perl -MIO::Socket::INET -e 'for my $c (1..4) {my $s = IO::Socket::INET->new(\"127.0.0.1:8099\"); for my $n (1..250) {print $s \"set k$c-$n 0 0 5\\r\\nvalue\\r\\n\"; <$s>; print $s \"get k$c-$n\\r\\n\"; <$s> for 1..3}}'; kill -TERM $(cat @/server.pid); } >/dev/null 2>&1 & helpers=";

/// php-fpm with two workers, and a FastCGI client that asks two hundred times.
const POOL: &str = "mkdir www; echo '<?php function answer() { return json_encode(range(1, 20)); }' >lib.php; echo '<?php require_once __DIR__.\"/lib.php\"; echo answer();' >index.php; chmod 644 lib.php index.php; \
     { echo '[global]'; echo 'error_log = @/error.log'; echo 'pid = @/server.pid'; echo '[www]'; echo 'user = nobody'; echo 'group = nogroup'; echo 'listen = 127.0.0.1:8099'; echo 'pm = static'; echo 'pm.max_children = 2'; } >fpm.conf";
const FASTCGI: &str = "ip link set lo up; { when 8099; for n in $(seq 200); do SCRIPT_FILENAME=@/index.php REQUEST_METHOD=GET cgi-fcgi -bind -connect 127.0.0.1:8099; done; kill -TERM $(cat @/server.pid); } >@/answers 2>&1 & helpers=";

/// Ten logins, each of which runs a command: root's own start file may start anything.
const SSHD: &str = "ssh-keygen -q -t ed25519 -N '' -f host; ssh-keygen -q -t ed25519 -N '' -f key; \
     { echo 'ListenAddress 127.0.0.1:8099'; echo 'HostKey @/host'; echo 'AuthorizedKeysFile @/key.pub'; echo 'PidFile @/server.pid'; echo 'StrictModes no'; echo 'UsePAM no'; echo 'PermitRootLogin yes'; } >sshd.conf";
const LOGINS: &str = "own /root; rm -f /root/.bashrc; own /run; mkdir -p /run/sshd; ip link set lo up; { when 8099; for n in $(seq 10); do ssh -F none -i @/key -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -l root -p 8099 127.0.0.1 true; done; kill -TERM $(cat @/server.pid); } >@/logins 2>&1 & helpers=";

/// A name server, asked three hundred times by one program.
const LOOKED_UP: &str = "own /etc; ip link set lo up; echo 'nameserver 127.0.0.1' >/etc/resolv.conf; { until perl -e 'exit !gethostbyname(\"api.example.test.\")'; do sleep 0.05; done; \
     perl -e 'gethostbyname(\"api.example.test.\") for 1..300'; kill -TERM $(cat @/server.pid); } >/dev/null 2>&1 & helpers=";

const UNDER_LOAD: &[Healthy] = &[
    // Databases.
    Healthy { command: "setpriv --reuid nobody --regid nogroup --clear-groups postgres -D @/db -k @/run -h 127.0.0.1 -p 5432", prepare: POSTGRES, around: PGBENCH, needs: "postgres initdb pgbench ip" },
    Healthy { command: "mariadbd --no-defaults --user=nobody --datadir=@/db --socket=@/db/socket --bind-address=127.0.0.1 --port=8099 --pid-file=@/db/pid", prepare: MARIADB, around: QUERIES, needs: "mariadb mariadb-install-db ip" },
    Healthy { command: "@/redis-server --bind 127.0.0.1 --port 8099 --dir @ --appendonly yes", prepare: REDIS, around: COMMANDS, needs: "redis-check-rdb redis-benchmark ip" },
    Healthy { command: "sh -c 'echo $$ >server.pid; exec memcached -l 127.0.0.1 -p 8099 -u nobody'", prepare: "", around: VALUES, needs: "memcached ip" },
    // Web servers.
    Healthy { command: "nginx -p @ -c @/good.conf", prepare: "mkdir -p www/a/b/c; seq 100 >www/a/b/c/f.html; echo 'daemon off; master_process off; pid @/server.pid; error_log @/error.log; events {} http { client_body_temp_path @/t; proxy_temp_path @/t; fastcgi_temp_path @/t; uwsgi_temp_path @/t; scgi_temp_path @/t; access_log @/access.log; root @/www; open_file_cache max=100; server { listen 127.0.0.1:8099; } }' >good.conf", around: REQUESTS, needs: "curl ip" },
    Healthy { command: "apache2 -X -d @ -f @/good.conf", prepare: "mkdir -p www/a/b/c; seq 100 >www/a/b/c/f.html; { echo 'Listen 127.0.0.1:8099'; echo 'ServerName x'; echo 'PidFile @/server.pid'; echo 'ErrorLog @/error.log'; echo 'User www-data'; echo 'Group www-data'; for m in mpm_prefork authz_core log_config; do [ -e /usr/lib/apache2/modules/mod_$m.so ] && echo \"LoadModule ${m}_module /usr/lib/apache2/modules/mod_$m.so\"; done; echo 'CustomLog @/access.log \"%h %t %r %>s\"'; echo 'DocumentRoot @/www'; echo '<Directory />'; echo 'AllowOverride None'; echo 'Require all granted'; echo '</Directory>'; } >good.conf", around: REQUESTS, needs: "curl ip" },
    Healthy { command: "sh -c 'echo $$ >server.pid; exec haproxy -db -f proxy.conf'", prepare: "{ echo 'defaults'; echo 'mode http'; echo 'timeout client 5s'; echo 'timeout server 5s'; echo 'timeout connect 5s'; echo 'frontend all'; echo 'bind 127.0.0.1:8099'; echo 'http-request return status 200 content-type text/plain string x'; } >proxy.conf", around: REQUESTS, needs: "haproxy curl ip" },
    Healthy { command: "php-fpm -n -F -p @ -y @/fpm.conf", prepare: POOL, around: FASTCGI, needs: "cgi-fcgi ip" },
    Healthy { command: "sh -c 'echo $$ >server.pid; exec php -S 127.0.0.1:8099 -t www router.php'", prepare: PHP, around: REQUESTS, needs: "php curl ip" },
    // Runtimes.
    Healthy { command: "sh -c 'echo $$ >server.pid; exec python3 -m http.server -b 127.0.0.1 -d www 8099'", prepare: WWW, around: REQUESTS, needs: "python3 curl ip" },
    Healthy { command: "sh -c 'echo $$ >server.pid; exec node server.js'", prepare: "echo 'const answer = (q, a) => a.end(JSON.stringify({ path: q.url, time: new Date().toISOString() })); require(\"http\").createServer(answer).listen(8099, \"127.0.0.1\"); process.on(\"SIGTERM\", () => process.exit(0))' >server.js", around: REQUESTS, needs: "node curl ip" },
    Healthy { command: "sh -c 'echo $$ >server.pid; exec ruby -rsocket server.rb'", prepare: "printf 'all = TCPServer.new(\"127.0.0.1\", 8099)\\nloop { one = all.accept; while (line = one.gets); next unless line == \"\\\\r\\\\n\"; one.write(\"HTTP/1.1 200 OK\\\\r\\\\nContent-Length: 20\\\\r\\\\n\\\\r\\\\n#{Time.now.iso8601[0, 19]}\\\\n\"); end; one.close }\\n' >server.rb; sed -i '1i require \"time\"' server.rb", around: REQUESTS, needs: "ruby curl ip" },
    Healthy { command: "java -cp /usr/share/java/js.jar org.mozilla.javascript.tools.shell.Main server.js", prepare: "printf 'var all = com.sun.net.httpserver.HttpServer.create(new java.net.InetSocketAddress(\"127.0.0.1\", 8099), 0); all.createContext(\"/\", new com.sun.net.httpserver.HttpHandler({ handle: function (x) { var b = new java.lang.String(new java.util.Date().toString()).getBytes(); x.sendResponseHeaders(200, b.length); x.getResponseBody().write(b); x.close(); } })); all.start(); var f = new java.io.FileWriter(\"server.pid\"); f.write(String(java.lang.ProcessHandle.current().pid())); f.close();' >server.js", around: REQUESTS, needs: "rhino curl ip" },
    Healthy { command: "sh -c 'echo $$ >server.pid; exec @/server'", prepare: "printf 'package main\\nimport (\"bufio\"; \"fmt\"; \"net\"; \"time\")\\nfunc main() {\\nall, _ := net.Listen(\"tcp\", \"127.0.0.1:8099\")\\nfor { one, err := all.Accept(); if err != nil { return }; go func() { in := bufio.NewReader(one); for { line, err := in.ReadString(10); if err != nil { one.Close(); return }; if len(line) == 2 { now := time.Now().Format(time.RFC3339); fmt.Fprintf(one, \"HTTP/1.1 200 OK\\\\r\\\\nContent-Length: %%d\\\\r\\\\n\\\\r\\\\n%%s\", len(now), now) } } }() } }\\n' >server.go; HOME=@ go build -o server server.go", around: REQUESTS, needs: "go curl ip" },
    // Services.
    Healthy { command: "sh -c 'exec $(command -v sshd) -D -e -f @/sshd.conf'", prepare: SSHD, around: LOGINS, needs: "sshd ssh ip" },
    Healthy { command: "dnsmasq -k -C /dev/null -a 127.0.0.1 -z -u root -R -h --address=/api.example.test/1.2.3.4 --pid-file=@/server.pid", prepare: "", around: LOOKED_UP, needs: "ip" },
];
