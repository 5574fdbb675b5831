// Healthy programs: nothing may be found in them.

/// What they work on.
const MATERIAL: &str = "chmod 755 .; seq 20000 >n; \
     printf '#include <stdio.h>\\nint main(void){puts(\"x\");return 0;}\\n' >c.c; \
     mkdir d; for i in $(seq 50); do echo $i >d/f$i; done; \
     tar cf a.tar d; \
     git init -q g; for i in 1 2 3; do seq $i 400 >g/f$i; done; git -C g add .; git -C g -c user.name=a -c user.email=a commit -qm one; seq 500 >>g/f1; \
     printf 'all: c\\n\\techo x\\nc: c.c\\n\\tgcc -O2 -o c c.c\\n' >Makefile; \
     printf 'import json\\nprint(json.dumps([1, 2]))\\n' >p.py; \
     printf 'import a\\ndef test_one(): assert a.one() == 1\\n' >t.py; printf 'def one(): return 1\\n' >a.py; \
     echo '{\"a\": [1, 2]}' >j.json; \
     mkdir out home deb cm; \
     mkdir -p deb/DEBIAN deb/opt/x; seq 100 >deb/opt/x/f; printf 'Package: x\\nVersion: 1\\nArchitecture: all\\nMaintainer: x <x>\\nDescription: x\\n' >deb/DEBIAN/control; \
     cp c.c cm; printf 'cmake_minimum_required(VERSION 3.10)\\nproject(x C)\\nadd_executable(x c.c)\\n' >cm/CMakeLists.txt; \
     for i in $(seq 20); do echo \"all: o$i.o\"; printf 'o%d.o: c.c\\n\\tgcc -c -o o%d.o c.c\\n' $i $i; done >many.mk; \
     echo 'fn main() { println!(\"x\") }' >r.rs; printf 'package main\\nfunc main() { println(1) }\\n' >x.go; \
     printf 'create table t(a); insert into t values(1); insert into t values(2);' >q.sql";

/// Each transaction of its own, and the rows read back.
const SQLITE: &str = "{ echo 'create table t(a integer primary key, b);'; seq 300 | sed 's/.*/insert into t values(&, &*2);/'; seq 300 | sed 's/.*/select b from t where a = &;/'; } >load.sql";

const HEALTHY: &[Healthy] = &[
    // Compilers and builds.
    plain("gcc -O2 -c c.c -o c.o"),
    plain("g++ -x c++ -c c.c -o cc.o"),
    plain("make"),
    plain("python3 -m compileall -q p.py"),
    plain("clang -O2 -c c.c -o c.o"),
    plain("make -j 2 -f many.mk"),
    plain("cmake -S cm -B build"),
    plain("gdb -batch -ex 'info files' /bin/true"),
    plain("rustc -O r.rs"),
    Healthy { command: "env CARGO_HOME=@/home cargo build --offline", prepare: "mkdir src; cp r.rs src/main.rs; printf '[package]\nname = \"r\"\nversion = \"0.1.0\"\nedition = \"2021\"\n' >Cargo.toml", around: "", needs: "rustc" },
    plain("env HOME=@/home go vet x.go"),
    plain("env HOME=@/home go build x.go"),
    // git.
    plain("git -C g status"),
    plain("git -C g log --stat"),
    plain("git -C g diff"),
    plain("git clone -q g h"),
    plain("git --version"),
    plain("git -C g blame f1"),
    plain("git -C g grep 1"),
    plain("git -C g -c user.name=a -c user.email=a commit -qam two"),
    plain("git -C g gc -q"),
    plain("git -C g fsck"),
    // Archives and texts.
    plain("grep -r 1 d"),
    plain("tar cf b.tar d"),
    plain("tar tvf a.tar"),
    plain("tar xf a.tar -C out"),
    plain("zstd -qkf a.tar"),
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
    plain("rg 1 d"),
    plain("jq .a j.json"),
    plain("find d -type f -exec grep -l 1 {} +"),
    plain("du -s d"),
    plain("cp -r d out/d"),
    plain("rm -r d"),
    plain("sha256sum n"),
    plain("split -l 1000 n out/n"),
    plain("openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=x -keyout k.pem -out c.pem"),
    plain("ssh-keygen -q -t ed25519 -N x -f key"),
    plain("top -b -n 2 -d 0.2"),
    plain("ip address"),
    plain("systemd-analyze calendar daily"),
    // Pictures and films.
    plain("convert -size 100x100 gradient: -resize 50% x.png"),
    plain("ffmpeg -v error -f lavfi -i testsrc=duration=1:size=160x120:rate=10 x.mp4"),
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
    plain("dpkg-deb -b deb p.deb"),
    Healthy { command: "dpkg --root=@/root -i p.deb", prepare: "mkdir -p root/var/lib/dpkg/info root/var/lib/dpkg/updates; : >root/var/lib/dpkg/status; dpkg-deb -b deb p.deb", around: "", needs: "dpkg-deb" },
    plain("python3 -m pip list"),
    // Without lsb_release, which pip starts: a script that sets a locale by another spelling.
    Healthy { command: "python3 -m pip install -q --no-index --no-deps --target out x-1-py3-none-any.whl", prepare: "printf 'x = 1\n' >x.py; mkdir x-1.dist-info; printf 'Metadata-Version: 2.1\nName: x\nVersion: 1\n' >x-1.dist-info/METADATA; printf 'Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n' >x-1.dist-info/WHEEL; printf 'x.py,,\nx-1.dist-info/METADATA,,\nx-1.dist-info/WHEEL,,\nx-1.dist-info/RECORD,,\n' >x-1.dist-info/RECORD; python3 -m zipfile -c x-1-py3-none-any.whl x.py x-1.dist-info", around: "own /usr/bin; rm -f /usr/bin/lsb_release", needs: "" },
    plain("vim -N -u NONE -es -c '%s/1/2/g' -c 'w! m' -c 'qa!' n"),
    plain("emacs -batch -Q n --eval '(while (re-search-forward \"1\" nil t) (replace-match \"2\"))' --eval '(write-file \"m\")'"),
    plain("env TERM=xterm sh -c \"{ sleep 1; printf 'abc\\\\030'; sleep 1; printf n; } | script -qec 'nano -I n' /dev/null\""),
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
    plain("pytest-3 -q -p no:cacheprovider t.py"),
    plain("perl -MJSON::PP -e 'decode_json(encode_json([$_])) for 1..1000'"),
    plain("perl -e 'open F, q(>), q(m); print F qq($_\\n) for 1..20000; close F; open F, q(m); $s += $_ while <F>; print $s'"),
    plain("ruby -e 'File.write(%q(m), (1..20000).to_a.join(%q( ))); puts File.read(%q(m)).split.sum(&:to_i)'"),
    plain("node -e 'const fs = require(`fs`); for (let i = 0; i < 300; i++) fs.writeFileSync(`m`, fs.readFileSync(`n`))'"),
    plain("java -cp /usr/share/java/js.jar org.mozilla.javascript.tools.shell.Main -e 'for (var i = 0, a = []; i < 300000; i++) a[i % 1000] = String(i)'"),
    plain("mlr --icsv --ojson head -n 3 n"),
    plain("java -version"),
    // Traps: what looks needless and is not. A line protocol, whose answers must not wait in a buffer; a
    // program that switches zones; one that watches a file; the one directory that holds the library.
    Healthy { command: "python3 driver.py", prepare: "printf 'import sys\\nfor line in sys.stdin: print(line.strip())\\n' >echo.py; printf 'import os, subprocess\\nos.environ[\"PYTHONUNBUFFERED\"] = \"1\"\\np = subprocess.Popen([\"python3\", \"echo.py\"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)\\nfor n in range(500):\\n    p.stdin.write(str(n) + chr(10))\\n    p.stdout.readline()\\np.stdin.close()\\n' >driver.py", around: "", needs: "" },
    plain("perl -MPOSIX -e 'for (1..300) {$ENV{TZ} = $_ % 2 ? q(Asia/Tokyo) : q(Europe/Athens); tzset; localtime}'"),
    plain("perl -e 'for (1..300) {stat q(/etc/resolv.conf); select undef, undef, undef, 0.005}'"),
    Healthy { command: "env LD_LIBRARY_PATH=@/lib git --version", prepare: "mkdir lib; cp $(ldd /usr/bin/git | awk '/libz/ {print $3}') lib", around: "", needs: "git" },
    // Servers and databases: those under load are in under_load.rs.
    plain("sqlite3 x.db -init q.sql .quit"),
    Healthy { command: "sqlite3 x.db -init load.sql .quit", prepare: SQLITE, around: "", needs: "" },
    plain("nginx -v"),
];
