// Healthy programs: nothing may be found in them.

/// What they work on.
const MATERIAL: &str = "chmod 755 .; seq 20000 >n; printf '#include <stdio.h>\\nint main(void){puts(\"x\");return 0;}\\n' >c.c; mkdir d; for i in $(seq 50); do echo $i >d/f$i; done; tar cf a.tar d; git init -q g; for i in 1 2 3; do seq $i 400 >g/f$i; done; git -C g add .; git -C g -c user.name=a -c user.email=a commit -qm one; seq 500 >>g/f1; printf 'all: c\\n\\techo x\\nc: c.c\\n\\tgcc -O2 -o c c.c\\n' >Makefile; printf 'import json\\nprint(json.dumps([1, 2]))\\n' >p.py; printf 'create table t(a); insert into t values(1); insert into t values(2);' >q.sql";

/// A PostgreSQL of its own, in which pgbench is at work.
const DATABASE: &str = "rm -rf db; mkdir -m 700 db; chown nobody db; D=$(pwd); cd /; setpriv --reuid nobody --regid nogroup --clear-groups initdb -U postgres -D $D/db --locale C -A trust --no-sync >/dev/null; cd $D";
const TRANSACTIONS: &str = "ip link set lo up; mkdir -p @/run; chmod 777 @/run; { until pg_isready -q -h @/run; do sleep 0.1; done; \
     pgbench -q -i -U postgres -h @/run postgres; pgbench -n -t 100 -c 2 -U postgres -h @/run postgres; kill -INT $(head -n 1 @/db/postmaster.pid); } >/dev/null 2>&1 & helpers=";
/// Each transaction of its own, and the rows read back.
const SQLITE: &str = "{ echo 'create table t(a integer primary key, b);'; seq 300 | sed 's/.*/insert into t values(&, &*2);/'; seq 300 | sed 's/.*/select b from t where a = &;/'; } >load.sql";

/// An application that includes a file and answers.
const PHP: &str = "mkdir www; echo '<?php function answer() { return json_encode(range(1, 20)); }' >lib.php; echo '<?php require_once __DIR__.\"/lib.php\"; echo answer();' >router.php";

const HEALTHY: &[Healthy] = &[
    // Compilers and builds.
    plain("gcc -O2 -c c.c -o c.o"),
    plain("g++ -x c++ -c c.c -o cc.o"),
    plain("make"),
    plain("python3 -m compileall -q p.py"),
    // git.
    plain("git -C g status"),
    plain("git -C g log --stat"),
    plain("git -C g diff"),
    plain("git clone -q g h"),
    plain("git --version"),
    // Archives and texts.
    plain("grep -r 1 d"),
    plain("tar cf b.tar d"),
    plain("tar tvf a.tar"),
    plain("gzip -kf a.tar"),
    plain("xz -0 -kf a.tar"),
    plain("sort -rn n"),
    plain("gawk '{s += $1} END {print s}' n"),
    plain("mawk '{s += $1} END {print s}' n"),
    plain("sed s/1/2/ n"),
    plain("cut -c1-2 n"),
    plain("diff n n"),
    plain("tail -n 5 n"),
    plain("dd if=n of=m bs=4k"),
    plain("ls -lR d"),
    plain("find d -type f"),
    plain("rsync -a d/ e/"),
    plain("openssl dgst -sha256 n"),
    plain("curl --version"),
    plain("ps aux"),
    plain("id"),
    // Shells.
    plain("bash -c 'for i in 1 2 3; do ls d; done'"),
    plain("dash -c 'for i in 1 2 3; do ls d; done'"),
    plain("bash -c 'while read -r x; do :; done <n'"),
    // Package managers and editors.
    plain("dpkg -l"),
    plain("dpkg -L coreutils"),
    plain("apt-cache policy bash"),
    plain("apt-cache search --names-only zlib"),
    plain("apt-get -s install bash"),
    plain("vim -N -u NONE -es -c '%s/1/2/g' -c 'w! m' -c 'qa!' n"),
    // Runtimes, at their start and at work.
    plain("python3 p.py"),
    plain("python3 -c 'import json; [json.loads(json.dumps(list(range(50)))) for i in range(3000)]'"),
    plain("python3 -c 'import logging; logging.basicConfig(filename=\"log\"); [logging.warning(\"%d\", i) for i in range(1000)]'"),
    plain("perl -ne '$s += $_; END {print $s}' n"),
    plain("ruby -e 'puts 1'"),
    plain("ruby -rjson -e '3000.times { JSON.parse([1, 2].to_json) }'"),
    plain("node -e 'console.log(1)'"),
    plain("node -e 'for (let i = 0; i < 3000; i++) JSON.parse(JSON.stringify([i]))'"),
    plain("php -r 'for ($i = 0; $i < 3000; $i++) $x = json_encode([$i]);'"),
    plain("mlr --icsv --ojson head -n 3 n"),
    plain("java -XX:-UsePerfData -XX:-UseContainerSupport -version"),
    // Traps: what looks needless and is not. A line protocol, whose answers must not wait in a buffer; a
    // program that switches zones; one that watches a file; the one directory that holds the library.
    Healthy { command: "python3 driver.py", prepare: "printf 'import sys\\nfor line in sys.stdin: print(line.strip())\\n' >echo.py; printf 'import os, subprocess\\nos.environ[\"PYTHONUNBUFFERED\"] = \"1\"\\np = subprocess.Popen([\"python3\", \"echo.py\"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)\\nfor n in range(500):\\n    p.stdin.write(str(n) + chr(10))\\n    p.stdout.readline()\\np.stdin.close()\\n' >driver.py", around: "", needs: "" },
    plain("perl -MPOSIX -e 'for (1..300) {$ENV{TZ} = $_ % 2 ? q(Asia/Tokyo) : q(Europe/Athens); tzset; localtime}'"),
    plain("perl -e 'for (1..300) {stat q(/etc/resolv.conf); select undef, undef, undef, 0.005}'"),
    Healthy { command: "env LD_LIBRARY_PATH=@/lib git --version", prepare: "mkdir lib; cp $(ldd /usr/bin/git | awk '/libz/ {print $3}') lib", around: "", needs: "git" },
    // Databases under load.
    plain("sqlite3 x.db -init q.sql .quit"),
    Healthy { command: "sqlite3 x.db -init load.sql .quit", prepare: SQLITE, around: "", needs: "" },
    Healthy { command: "setpriv --reuid nobody --regid nogroup --clear-groups postgres -D @/db -k @/run -h 127.0.0.1 -p 5432", prepare: DATABASE, around: TRANSACTIONS, needs: "postgres initdb pgbench ip" },
    // Web servers in steady state.
    plain("nginx -v"),
    Healthy { command: "nginx -p @ -c @/good.conf", prepare: "mkdir -p www/a/b/c; seq 100 >www/a/b/c/f.html; echo 'daemon off; master_process off; pid @/server.pid; error_log @/error.log; events {} http { access_log @/access.log; root @/www; open_file_cache max=100; server { listen 127.0.0.1:8099; } }' >good.conf", around: REQUESTS, needs: "curl ip" },
    Healthy { command: "apache2 -X -d @ -f @/good.conf", prepare: "mkdir -p www/a/b/c; seq 100 >www/a/b/c/f.html; { echo 'Listen 127.0.0.1:8099'; echo 'ServerName x'; echo 'PidFile @/server.pid'; echo 'ErrorLog @/error.log'; echo 'User www-data'; echo 'Group www-data'; for m in mpm_prefork authz_core log_config; do [ -e /usr/lib/apache2/modules/mod_$m.so ] && echo \"LoadModule ${m}_module /usr/lib/apache2/modules/mod_$m.so\"; done; echo 'CustomLog @/access.log \"%h %t %r %>s\"'; echo 'DocumentRoot @/www'; echo '<Directory />'; echo 'AllowOverride None'; echo 'Require all granted'; echo '</Directory>'; } >good.conf", around: REQUESTS, needs: "curl ip" },
    Healthy { command: "sh -c 'echo $$ >server.pid; exec php -S 127.0.0.1:8099 -t www router.php'", prepare: PHP, around: REQUESTS, needs: "php curl ip" },
    Healthy { command: "sh -c 'echo $$ >server.pid; exec python3 -m http.server -b 127.0.0.1 -d www 8099'", prepare: "mkdir -p www/a/b/c; seq 100 >www/a/b/c/f.html", around: REQUESTS, needs: "python3 curl ip" },
];
