// The cases of `cargo xtask cases`: see xtask/src/cases.rs. Each rule has one at least, or stands in
// `WITHOUT` with the reason.

const DIRS: &str = "for n in $(seq 20); do mkdir -p p$n; done";
/// Two configurations of a program written by hand: `bad.NAME` and `good.NAME`.
const LOOKUPS: &str = "printf 'import socket\\nfor i in range(300): socket.getaddrinfo(\"localhost\", 80)\\n' >bad.py; \
     printf 'import socket\\na = socket.getaddrinfo(\"localhost\", 80)\\nfor i in range(300): a\\n' >good.py";
/// A name server that knows one name, and what Kubernetes writes for its clients.
const NAMES: &str = "own /etc; ip link set lo up; \
     printf 'search prod.svc.cluster.local svc.cluster.local cluster.local example.internal\\nnameserver 127.0.0.1\\noptions ndots:5\\n' >/etc/resolv.conf; \
     dnsmasq -k -C /dev/null -a 127.0.0.1 -z -u root -R -h --local=/local/ --local=/internal/ --address=/api.example.test/1.2.3.4 --address=/api.example.test/2001:db8::1 --pid-file= >/dev/null 2>&1 & helpers=$!; \
     until perl -e 'exit !gethostbyname(\"api.example.test.\")'; do sleep 0.05; done";
/// Some hundred requests to the server that is about to start, and its end.
const REQUESTS: &str = "ip link set lo up; { when 8099; seq 300 | sed 's|.*|url = http://127.0.0.1:8099/a/b/c/f.html|' >@/urls; curl -s -o /dev/null -K @/urls; \
     kill -TERM $(cat @/server.pid); } >/dev/null 2>&1 & helpers=";

/// A database, and a client that connects to it forty times.
const KERBEROS: &str = "rm -rf db; mkdir -m 700 db; chmod 755 .; chown nobody db; D=$(pwd); (cd /; setpriv --reuid nobody --regid nogroup --clear-groups initdb -U postgres -D $D/db --locale C -A trust --no-sync >/dev/null); for n in $(seq 40); do echo '\\\\c postgres postgres 127.0.0.1 5432'; done >again.sql";

const CASES: &[Case] = &[
    // Time zones.
    Case { rule: "tz-unset", good: "TZ=Etc/UTC", command: "perl -e 'localtime for 1..2000'", ..PLAIN },
    Case { rule: "zone-file-missing", good: "TZ=UTC", command: "perl -e 'localtime for 1..2000'", around: "own /etc; rm -f /etc/localtime", ..PLAIN },
    Case { rule: "zone-file-missing", good: "TZ=UTC", command: "gawk 'BEGIN {for (i = 0; i < 2000; i++) strftime(\"%H\", i)}'", around: "own /etc; rm -f /etc/localtime; : >/etc/localtime", ..PLAIN },
    Case { rule: "tz-rule-missing", bad: "TZ=CET-1CEST", good: "TZ=Europe/Berlin", command: "perl -e 'localtime for 1..500'", needs: "", ..PLAIN },
    Case { rule: "tz-not-found", bad: "TZ=Europe/Nowhere", good: "TZ=Europe/Berlin", command: "perl -e 'localtime for 1..500'", ..PLAIN },
    // Miller, in Go.
    Case { rule: "zone-reload", bad: "TZ=Asia/Tokyo", good: "TZ=Asia/Tokyo", command: "mlr -n put -f ARM", prepare: "printf 'end {for (i = 0; i < 300; i += 1) {print strftime_local(i, \"%%H %%Z\", \"Asia/Tokyo\")}}' >bad; printf 'end {for (i = 0; i < 300; i += 1) {print sec2gmt(i + 32400)}}' >good", ..PLAIN },
    Case { rule: "zone-scan", good: "TZ=Europe/Athens", command: "node -e 'new Date().getHours()'", around: "own /etc; rm -f /etc/localtime; cp /usr/share/zoneinfo/Europe/Athens /etc/localtime", ..PLAIN },
    // Search paths.
    Case { rule: "library-search library-runpath", bad: "LD_LIBRARY_PATH=TWENTY", command: "git --version", prepare: DIRS, ..PLAIN },
    // As Nix and Spack build: each library in a prefix of its own; mended, one directory of links.
    Case { rule: "library-runpath", command: "@/ARM/curl --version", needs: "curl patchelf", prepare: "mkdir bad good one; i=0; r=; for l in $(ldd /usr/bin/curl | awk '$3 ~ /^\\// {print $3}' | grep -vE '/(libc|libm|libdl|libpthread)[.]so'); do i=$((i + 1)); mkdir -p store/h$i/lib; cp -L $l store/h$i/lib/; cp -L $l one/; r=$r:@/store/h$i/lib; done; cp /usr/bin/curl bad/; cp /usr/bin/curl good/; for f in bad/curl store/*/lib/*; do patchelf --set-rpath ${r#:} $f; done; for f in good/curl one/*; do patchelf --set-rpath @/one $f; done", ..PLAIN },
    Case { rule: "preload-missing", bad: "LD_PRELOAD=libgone.so.0", command: "ls /", ..PLAIN },
    Case { rule: "loader-cache", command: "git --version", around: "own /etc; [ ARM = good ] || rm /etc/ld.so.cache", ..PLAIN },
    Case { rule: "command-search", bad: "PATH=TWENTY:/usr/bin:/bin", good: "PATH=/usr/bin:/bin", command: "xargs -a n -n1 true", prepare: "for n in $(seq 20); do mkdir -p p$n; done; seq 60 >n", ..PLAIN },
    Case { rule: "python-path", bad: "PYTHONPATH=TWENTY", command: "python3 -c 'import json, http.server'", prepare: DIRS, ..PLAIN },
    Case { rule: "python-bytecode", bad: "PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=@/m", good: "PYTHONPATH=@/w", command: "python3 main.py", prepare: "mkdir m; for n in $(seq 60); do echo 'x = 1' >m/mod$n.py; echo \"import mod$n\" >>main.py; done; cp -r m w; /usr/bin/python3 -m compileall -q w", ..PLAIN },
    Case { rule: "perl-path", bad: "PERL5LIB=TWENTY", command: "perl -MPOSIX -MData::Dumper -e 1", prepare: DIRS, ..PLAIN },
    Case { rule: "ruby-path", bad: "RUBYLIB=TWENTY", command: "ruby -rset -rjson -rdate -e 1", prepare: DIRS, environment: true, ..PLAIN },
    Case { rule: "node-path", bad: "NODE_PATH=TWENTY", command: "node main.js", prepare: "for n in $(seq 20); do mkdir -p p$n; done; echo 'for (const name of [\"fast\", \"bufferutil\", \"utf-8-validate\"]) try { require(name) } catch {}' >main.js", ..PLAIN },
    Case { rule: "module-walk", command: "node ARM/a/b/c/d/e/f/g/h/main.js", prepare: "for d in bad good/a/b/c/d/e/f/g/h; do mkdir -p bad/a/b/c/d/e/f/g/h $d; for p in one two three four; do mkdir -p $d/node_modules/$p; echo '{\"name\": \"'$p'\", \"main\": \"i.js\"}' >$d/node_modules/$p/package.json; echo 1 >$d/node_modules/$p/i.js; done; done; echo '{}' >good/a/b/c/d/e/f/g/h/package.json; for d in bad good; do echo 'for (const p of [\"one\", \"two\", \"three\", \"four\"]) require(p)' >$d/a/b/c/d/e/f/g/h/main.js; done", ..PLAIN },
    Case { rule: "php-include-path", command: "php -d include_path=ARM main.php", prepare: "i=$(pwd); l=; for n in 1 2 3 4 5; do mkdir p$n; l=$l$i/p$n:; done; mkdir lib; for n in $(seq 30); do echo \"<?php \\$x = $n;\" >lib/f$n.php; echo \"<?php include 'f$n.php';\" >>one; done; { echo '<?php'; echo \"ini_set('include_path', is_dir(ini_get('include_path')) ? '$i/lib' : '$l$i/lib');\"; sed 's/<?php//' one; } >main.php; mkdir good", ..PLAIN },
    Case { rule: "class-path", bad: "CLASSPATH=@/a1.jar:@/a2.jar:@/a3.jar:@/a4.jar:@/a5.jar:@/a6.jar:@/a7.jar:@/a8.jar:@/a9.jar:.", good: "CLASSPATH=.", command: "java -Xshare:auto Main", beside: "java-container-check java-monitoring-file", needs: "", prepare: "base64 -d >Main.class <<'END'\nyv66vgAAADQACAEABE1haW4HAAEBABBqYXZhL2xhbmcvT2JqZWN0BwADAQAEbWFpbgEAFihbTGphdmEvbGFuZy9TdHJpbmc7KVYBAARDb2RlACEAAgAEAAAAAAABAAkABQAGAAEABwAAAA0AAAABAAAAAbEAAAAAAAA=\nEND", ..PLAIN },
    Case { rule: "header-search", bad: "CPATH=TWENTY", command: "gcc -c c.c", prepare: "for n in $(seq 20); do mkdir -p p$n; done; printf '#include <stdio.h>\\n#include <stdlib.h>\\n#include <string.h>\\n' >c.c", environment: true, ..PLAIN },
    Case { rule: "data-directories", bad: "GSETTINGS_BACKEND=memory XDG_DATA_DIRS=TWENTY:/usr/share", good: "GSETTINGS_BACKEND=memory XDG_DATA_DIRS=/usr/share", command: "gsettings list-schemas", environment: true, ..PLAIN },
    Case { rule: "converter-path", bad: "GCONV_PATH=/usr/lib/x86_64-linux-gnu/gconv", command: "iconv -f UTF-8 -t ISO-8859-7 /dev/null", environment: true, ..PLAIN },
    Case { rule: "message-path", bad: "LANG=C.utf8 NLSPATH=/opt/a/%L/%N.cat:/opt/b/%L/%N.cat:/opt/c/%L/%N.cat:/opt/d/%L/%N.cat:/opt/e/%L/%N.cat:/opt/f/%L/%N.cat:/opt/g/%L/%N.cat:/opt/h/%L/%N.cat", good: "LANG=C.utf8", command: "tcsh -f -c exit", environment: true, ..PLAIN },
    Case { rule: "terminal-search", bad: "TERM=xterm TERMINFO_DIRS=TWENTY:/lib/terminfo", good: "TERM=xterm", command: "tput bold", ..PLAIN },
    Case { rule: "terminal-unknown", bad: "TERM=my-own-terminal", good: "TERM=xterm-256color", command: "sh -c 'for n in 1 2 3; do tput bold; done'", ..PLAIN },
    Case { rule: "font-cache", bad: "HOME=/nonexistent", good: "HOME=/nonexistent XDG_CACHE_HOME=@/cache", command: "fc-match sans", prepare: "mkdir cache", around: "own /var/cache; rm -rf /var/cache/fontconfig; ln -s /nonexistent /var/cache/fontconfig; [ ARM = bad ] || XDG_CACHE_HOME=@/cache fc-cache -f", ..PLAIN },
    Case { rule: "git-discovery", good: "GIT_CEILING_DIRECTORIES=@/a/b/c/d/e/f/g/h/i/j", command: "git -C a/b/c/d/e/f/g/h/i/j/k log", prepare: "mkdir -p a/b/c/d/e/f/g/h/i/j/k", ..PLAIN },
    Case { rule: "htaccess-search", command: "apache2 -X -d @ -f @/ARM.conf", needs: "curl ip", prepare: "chmod 755 .; mkdir -p www/a/b/c; seq 100 >www/a/b/c/f.html; for arm in bad good; do { echo 'Listen 127.0.0.1:8099'; echo 'ServerName x'; echo 'PidFile @/server.pid'; echo 'ErrorLog @/error.log'; echo 'User www-data'; echo 'Group www-data'; for m in mpm_prefork authz_core; do echo \"LoadModule ${m}_module /usr/lib/apache2/modules/mod_$m.so\"; done; echo 'DocumentRoot @/www'; echo '<Directory />'; [ $arm = bad ] && echo 'AllowOverride All' || echo 'AllowOverride None'; echo 'Require all granted'; echo '</Directory>'; } >$arm.conf; done", around: REQUESTS, ..PLAIN },
    Case { rule: "php-realpath", command: "php -d open_basedir=$(cat ARM) main.php", prepare: "echo @:/usr/share/php >bad; echo >good; mkdir -p a/b/c/d/e; for i in $(seq 50); do echo \"<?php \\$x=$i;\" >a/b/c/d/e/f$i.php; done; echo \"<?php for (\\$k=0;\\$k<20;\\$k++) for (\\$i=1;\\$i<=50;\\$i++) include '@/a/b/c/d/e/f'.\\$i.'.php';\" >main.php", ..PLAIN },
    // Locales.
    Case { rule: "catalogue-search", bad: "LANG=C.utf8 LANGUAGE=xa:xb:xc:xd:xe:xf:xg:xh", good: "LANG=C.utf8 LC_MESSAGES=C", command: "ls -z", ..PLAIN },
    Case { rule: "locale-alias", bad: "LANG=greek", good: "LANG=el_GR", command: "ls", environment: true, beside: "catalogue-search", needs: "localedef", around: "own /usr/lib/locale; rm -rf /usr/lib/locale/*; localedef --no-archive -i el_GR -f ISO-8859-7 el_GR", ..PLAIN },
    Case { rule: "locale-spelling", bad: "LANG=C.UTF-8", good: "LANG=C.utf8", command: "ls", environment: true, ..PLAIN },
    Case { rule: "locale-not-installed", bad: "LANG=xx_YY.UTF-8", good: "LANG=C", command: "ls", environment: true, ..PLAIN },
    // Names, users, logs.
    Case { rule: "resolver-reread", good: "RES_OPTIONS=no-reload", command: "python3 bad.py", prepare: LOOKUPS, ..PLAIN },
    Case { rule: "hosts-reread", command: "python3 ARM.py", prepare: LOOKUPS, beside: "resolver-reread", pedantic: true, ..PLAIN },
    Case { rule: "name-search-list", good: "RES_OPTIONS=ndots:1", command: "python3 names.py", needs: "dnsmasq ip", prepare: "printf 'import socket\\nfor i in range(40): socket.getaddrinfo(\"api.example.test\", 80)\\n' >names.py", around: NAMES, ..PLAIN },
    Case { rule: "host-aliases", bad: "HOSTALIASES=@/aliases", command: "python3 ARM.py", needs: "dnsmasq ip", prepare: "echo 'db api.example.test.' >aliases; printf 'import socket\\nfor i in range(40): socket.getaddrinfo(\"db\", 80)\\n' >bad.py; sed 's/\"db\"/\"api.example.test.\"/' bad.py >good.py", around: NAMES, environment: true, ..PLAIN },
    Case { rule: "user-lookup", command: "find d -printf $(cat ARM)", prepare: "echo %u >bad; echo %U >good; mkdir d; for i in $(seq 300); do : >d/f$i; done", ..PLAIN },
    Case { rule: "log-socket-missing", command: "python3 ARM.py", prepare: "printf 'import syslog\\nfor i in range(300): syslog.syslog(str(i))\\n' >bad.py; printf 'import sys\\nfor i in range(300): print(i, file=sys.stderr)\\n' >good.py", around: "own /dev; rm -f /dev/log", ..PLAIN },
    Case { rule: "kerberos-probing", good: "PGGSSENCMODE=disable", command: "psql -h 127.0.0.1 -p 5432 -U postgres -qf again.sql", needs: "postgres initdb pg_isready ip", prepare: KERBEROS, around: "ip link set lo up; mkdir -p @/run; chmod 777 @/run; setpriv --reuid nobody --regid nogroup --clear-groups postgres -D @/db -k @/run -h 127.0.0.1 -p 5432 >/dev/null 2>&1 & helpers=$!; until pg_isready -q -h @/run; do sleep 0.1; done", ..PLAIN },
    Case { rule: "certificate-reread", command: "python3 ARM.py", prepare: "printf 'import ssl\\nfor i in range(30): ssl.create_default_context()\\n' >bad.py; printf 'import ssl\\nc = ssl.create_default_context()\\nfor i in range(30): c\\n' >good.py", ..PLAIN },
    // Buffers, heap, descriptors, clocks.
    Case { rule: "unbuffered-output", bad: "PYTHONUNBUFFERED=1", command: "python3 -c 'for i in range(5000): print(i)'", ..PLAIN },
    Case { rule: "unbuffered-input", beside: "unbuffered-output", prepare: "seq 1000 >n; echo 1 >bad; echo 64K >good", command: "dd if=n of=m status=none bs=$(cat ARM)", ..PLAIN },
    Case { rule: "heap-trim-churn", good: "MALLOC_TRIM_THRESHOLD_=268435456 MALLOC_MMAP_THRESHOLD_=268435456 MALLOC_TOP_PAD_=16777216", command: "python3 z.py", prepare: "printf 'import zlib\\nfor i in range(1000): zlib.compress(b\"x\" * 1000)\\n' >z.py", ..PLAIN },
    Case { rule: "close-storm", prepare: "echo 20000:20000 >bad; echo 1024:20000 >good", command: "prlimit --nofile=$(cat ARM) start-stop-daemon --start --background --pidfile @/none.pid --startas /bin/true", ..PLAIN },
    Case { rule: "clock-without-vdso", command: "perl ARM.pl", prepare: "echo 'use Time::HiRes; my $t = pack \"qq\"; syscall(228, 1, $t) for 1..3000' >bad.pl; echo 'use Time::HiRes qw(clock_gettime); clock_gettime(1) for 1..3000' >good.pl", ..PLAIN },
    Case { rule: "processor-count", command: "python3 ARM.py", prepare: "printf 'import os\\nfor i in range(300): os.cpu_count()\\n' >bad.py; printf 'import os\\nn = os.cpu_count()\\nfor i in range(300): n\\n' >good.py", ..PLAIN },
    // Runtimes and servers.
    Case { rule: "java-monitoring-file", good: "JAVA_TOOL_OPTIONS=-XX:-UsePerfData", command: "java -version", beside: "java-container-check", ..PLAIN },
    Case { rule: "java-container-check", good: "JAVA_TOOL_OPTIONS=-XX:-UseContainerSupport", command: "java -version", beside: "java-monitoring-file", ..PLAIN },
    Case { rule: "nginx-open-files", command: "nginx -p @ -c @/ARM.conf", needs: "curl ip", prepare: "chmod 755 .; mkdir -p www/a/b/c; seq 100 >www/a/b/c/f.html; for arm in bad good; do { echo 'daemon off; master_process off; pid @/server.pid; error_log @/error.log; events {} http { access_log off; root @/www; server { listen 127.0.0.1:8099;'; [ $arm = bad ] || echo 'open_file_cache max=100;'; echo '} }'; } >$arm.conf; done", around: REQUESTS, ..PLAIN },
    Case { rule: "repeated-question", command: "dash ARM.sh", prepare: "printf 'for x in $(cat n); do [ -e /etc/hostname ] && y=$x; done' >bad.sh; printf '[ -e /etc/hostname ] && for x in $(cat n); do y=$x; done' >good.sh; seq 3000 >n", ..PLAIN },
];

/// Rules that no program of Debian 12 shows, and why.
const WITHOUT: &[(&str, &str)] = &[];
