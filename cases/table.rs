// The cases of `cargo xtask cases`: see xtask/src/cases.rs.

const BACKENDS: [&str; 3] = ["ptrace", "ebpf", "log"];

const CASES: &[Case] = &[
    Case { rule: "library-search library-runpath", bad: "LD_LIBRARY_PATH=TWENTY", good: "", command: "git --version", prepare: DIRS },
    Case { rule: "preload-missing", bad: "LD_PRELOAD=libgone.so.0", good: "", command: "ls /", prepare: "" },
    Case { rule: "python-path", bad: "PYTHONPATH=TWENTY", good: "", command: "python3 -c 'import json, http.server'", prepare: DIRS },
    Case { rule: "perl-path", bad: "PERL5LIB=TWENTY", good: "", command: "perl -MPOSIX -MData::Dumper -e 1", prepare: DIRS },
    Case { rule: "command-search", bad: "PATH=TWENTY:/usr/bin:/bin", good: "PATH=/usr/bin:/bin", command: "xargs -a n -n1 true", prepare: "for n in $(seq 20); do mkdir -p p$n; done; seq 60 >n" },
    Case { rule: "python-bytecode", bad: "PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=@/m", good: "PYTHONPATH=@/w", command: "python3 main.py", prepare: "mkdir m; for n in $(seq 60); do echo 'x = 1' >m/mod$n.py; echo \"import mod$n\" >>main.py; done; cp -r m w; python3 -m compileall -q w" },
    Case { rule: "catalogue-search", bad: "LANG=C.utf8 LANGUAGE=xa:xb:xc:xd:xe:xf:xg:xh", good: "LANG=C.utf8 LC_MESSAGES=C", command: "ls -z", prepare: "" },
    Case { rule: "tz-unset", bad: "", good: "TZ=Etc/UTC", command: "perl -e 'localtime for 1..2000'", prepare: "" },
    Case { rule: "unbuffered-output", bad: "PYTHONUNBUFFERED=1", good: "", command: "python3 -c 'for i in range(5000): print(i)'", prepare: "" },
    Case { rule: "heap-trim-churn", bad: "", good: "MALLOC_TRIM_THRESHOLD_=268435456 MALLOC_MMAP_THRESHOLD_=268435456 MALLOC_TOP_PAD_=16777216", command: "python3 z.py", prepare: "printf 'import zlib\\nfor i in range(1000): zlib.compress(b\"x\" * 1000)\\n' >z.py" },
    Case { rule: "terminal-search", bad: "TERM=xterm TERMINFO_DIRS=TWENTY:/lib/terminfo", good: "TERM=xterm", command: "tput bold", prepare: "" },
];

/// What healthy programs work on.
const MATERIAL: &str = "seq 20000 >n; printf '#include <stdio.h>\\nint main(void){puts(\"x\");return 0;}\\n' >c.c; mkdir d; for i in $(seq 50); do echo $i >d/f$i; done; tar cf a.tar d; git init -q g; printf 'all:\\n\\techo x\\n' >Makefile; printf 'import json\\nprint(json.dumps([1, 2]))\\n' >p.py; printf 'create table t(a); insert into t values(1); insert into t values(2);' >q.sql";

const HEALTHY: &[&str] = &[
    "gcc -O2 -c c.c -o c.o",
    "g++ -x c++ -c c.c -o cc.o",
    "make",
    "git -C g status",
    "git --version",
    "grep -r 1 d",
    "tar cf b.tar d",
    "gzip -kf a.tar",
    "xz -0 -kf a.tar",
    "sort -rn n",
    "gawk '{s += $1} END {print s}' n",
    "mawk '{s += $1} END {print s}' n",
    "perl -ne '$s += $_; END {print $s}' n",
    "python3 p.py",
    "ruby -e 'puts 1'",
    "node -e 'console.log(1)'",
    "sqlite3 x.db -init q.sql .quit",
    "ls -lR d",
    "find d -type f",
    "rsync -a d/ e/",
    "openssl dgst -sha256 n",
    "curl --version",
    "bash -c 'for i in 1 2 3; do ls d; done'",
    "dash -c 'for i in 1 2 3; do ls d; done'",
    "dpkg -l",
    "apt-cache policy bash",
    "ps aux",
    "sed s/1/2/ n",
    "cut -c1-2 n",
    "dd if=n of=m bs=4k",
    "diff n n",
    "id",
    "nginx -v",
    "tail -n 5 n",
];
