// Healthy servers: databases under load, web servers and runtimes. Each listens on its own loopback interface,
// answers some hundred or thousand requests and is then ended by its process id.

/// The files of web servers.
const WWW: &str = "mkdir -p www/a/b/c; seq 100 >www/a/b/c/f.html";

/// An application that includes a file and answers.
const PHP: &str = "mkdir www; echo '<?php function answer() { return json_encode(range(1, 20)); }' >lib.php; echo '<?php require_once __DIR__.\"/lib.php\"; echo answer();' >router.php";

/// A new PostgreSQL, with pgbench at work.
const POSTGRES: &str = "rm -rf db; mkdir -m 700 db; chown nobody db; D=$(pwd); cd /; setpriv --reuid nobody --regid nogroup --clear-groups initdb -U postgres -D $D/db --locale C -A trust --no-sync >/dev/null; cd $D";
const PGBENCH: &str = include_str!("scripts/pgbench.sh");

/// A new MariaDB, and a client that writes a thousand rows and reads each back by an index.
const MARIADB: &str = include_str!("scripts/mariadb.sh");
const QUERIES: &str = "ip link set lo up; { when 8099; mariadb --no-defaults -h 127.0.0.1 -P 8099 -u root <@/load.sql; kill -TERM $(cat @/db/pid); } >/dev/null 2>&1 & helpers=";

/// Redis is one program with many names.
const REDIS: &str = "ln -s $(command -v redis-check-rdb) redis-server";
const COMMANDS: &str = "ip link set lo up; { when 8099; redis-benchmark -p 8099 -n 1000 -c 10 -q -t set,get,incr,lpush,lrange_100; redis-cli -p 8099 shutdown; } >/dev/null 2>&1 & helpers=";

const VALUES: &str = include_str!("scripts/memcached.sh");

/// php-fpm with two workers, and a FastCGI client that makes two hundred requests.
const POOL: &str = include_str!("scripts/php-fpm.sh");
const FASTCGI: &str = "ip link set lo up; { when 8099; for n in $(seq 200); do SCRIPT_FILENAME=@/index.php REQUEST_METHOD=GET cgi-fcgi -bind -connect 127.0.0.1:8099; done; kill -TERM $(cat @/server.pid); } >@/answers 2>&1 & helpers=";

/// Ten logins, each of which runs a command.
const SSHD: &str = include_str!("scripts/sshd.sh");
const LOGINS: &str = include_str!("scripts/logins.sh");

const LOOKED_UP: &str = include_str!("scripts/look-ups.sh");

const UNDER_LOAD: &[Healthy] = &[
    // Databases.
    Healthy { command: "setpriv --reuid nobody --regid nogroup --clear-groups postgres -D @/db -k @/run -h 127.0.0.1 -p 5432", prepare: POSTGRES, around: PGBENCH, needs: "postgres initdb pgbench ip" },
    Healthy { command: "mariadbd --no-defaults --user=nobody --datadir=@/db --socket=@/db/socket --bind-address=127.0.0.1 --port=8099 --pid-file=@/db/pid", prepare: MARIADB, around: QUERIES, needs: "mariadb mariadb-install-db ip" },
    Healthy { command: "@/redis-server --bind 127.0.0.1 --port 8099 --dir @ --appendonly yes", prepare: REDIS, around: COMMANDS, needs: "redis-check-rdb redis-benchmark ip" },
    Healthy { command: "sh -c 'echo $$ >server.pid; exec memcached -l 127.0.0.1 -p 8099 -u nobody'", prepare: "", around: VALUES, needs: "memcached ip" },
    // Web servers.
    Healthy { command: "nginx -p @ -c @/logged.conf", prepare: include_str!("scripts/nginx.sh"), around: REQUESTS, needs: "curl ip" },
    Healthy { command: "apache2 -X -d @ -f @/good.conf", prepare: include_str!("scripts/apache.sh"), around: REQUESTS, needs: "curl ip" },
    Healthy { command: "sh -c 'echo $$ >server.pid; exec haproxy -db -f proxy.conf'", prepare: include_str!("scripts/haproxy.sh"), around: REQUESTS, needs: "haproxy curl ip" },
    Healthy { command: "php-fpm -n -F -p @ -y @/fpm.conf", prepare: POOL, around: FASTCGI, needs: "cgi-fcgi ip" },
    Healthy { command: "sh -c 'echo $$ >server.pid; exec php -S 127.0.0.1:8099 -t www router.php'", prepare: PHP, around: REQUESTS, needs: "php curl ip" },
    // Runtimes.
    Healthy { command: "sh -c 'echo $$ >server.pid; exec python3 -m http.server -b 127.0.0.1 -d www 8099'", prepare: WWW, around: REQUESTS, needs: "python3 curl ip" },
    Healthy { command: "sh -c 'echo $$ >server.pid; exec node server.js'", prepare: "echo 'const answer = (q, a) => a.end(JSON.stringify({ path: q.url, time: new Date().toISOString() })); require(\"http\").createServer(answer).listen(8099, \"127.0.0.1\"); process.on(\"SIGTERM\", () => process.exit(0))' >server.js", around: REQUESTS, needs: "node curl ip" },
    Healthy { command: "sh -c 'echo $$ >server.pid; exec ruby -rsocket server.rb'", prepare: include_str!("scripts/ruby-server.sh"), around: REQUESTS, needs: "ruby curl ip" },
    Healthy { command: "java -cp /usr/share/java/js.jar org.mozilla.javascript.tools.shell.Main server.js", prepare: include_str!("scripts/java-server.sh"), around: REQUESTS, needs: "rhino curl ip" },
    Healthy { command: "sh -c 'echo $$ >server.pid; exec @/server'", prepare: include_str!("scripts/go-server.sh"), around: REQUESTS, needs: "go curl ip" },
    // Services.
    Healthy { command: "sh -c 'exec $(command -v sshd) -D -e -f @/sshd.conf'", prepare: SSHD, around: LOGINS, needs: "sshd ssh ip" },
    Healthy { command: "dnsmasq -k -C /dev/null -a 127.0.0.1 -z -u root -R -h --address=/api.example.test/1.2.3.4 --pid-file=@/server.pid", prepare: "", around: LOOKED_UP, needs: "ip" },
];
