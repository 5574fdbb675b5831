#!/bin/sh
# Records the logs of this folder whose names start with "real-" anew, with the strace installed
# here. Run in this folder; needs strace 6.1 or newer and a C compiler.
#
# Nothing of the machine gets in: an empty environment, programs below /usr/bin and /tmp only.
set -eu
here=$PWD
work=$(mktemp -d /tmp/corpus.XXXXXX)
trap 'rm -rf "$work"' EXIT
cc -O1 -o "$work/threads" threads.c -lpthread
cd /tmp
cp "$work/threads" /tmp/corpus-threads
script='/usr/bin/true; test -e /etc/localtime; test -e /nonexistent; cd /usr; test -e share; exit 3'
trace() { env -i LANG=C PATH=/usr/bin "TZ=:/etc/localtime" strace "$@"; }

# One file of every option: the table that -C appends lets a test check the counts.
log() {
    name=$1
    shift
    trace -f -C "$@" -o "$here/real-$name.log" /usr/bin/dash -c "$script" || [ $? = 3 ]
}
log plain
log t -t
log tt-T -tt -T
log ttt -ttt
log unix-seconds --absolute-timestamps=format:unix,precision:s
log nanoseconds --absolute-timestamps=format:time,precision:ns
log r -r
log tt-r -tt -r
log n -n
log i -i
log y -y
log yy -yy
log k -k
log x -x
log xx -xx
log X-raw -X raw
log X-verbose -X verbose
log v -v -s 4096
log v-cut -v -s 4
log comm -Y
log everything -tt -r -n -i -T -yy -v -Y
log raw-arguments -e raw=all
log injected -e inject=access:error=EPERM:when=1

# What strace was told to leave out: no table, it would be partial too.
part() {
    name=$1
    shift
    trace -f "$@" -o "$here/real-$name.log" /usr/bin/dash -c "$script" || [ $? = 3 ]
}
part only-file -e trace=%file
part only-memory -e trace=%memory
part only-ok -z
part only-failed -Z
part seccomp-bpf --seccomp-bpf -e trace=openat,newfstatat
part one-path -P /etc/localtime
part no-children-followed -qq

# On the terminal: pids only while there are several, lines split by messages and by output.
trace -f /usr/bin/dash -c "$script; echo unreached" 2>"$here/real-stderr.log" || [ $? = 3 ]
trace /usr/bin/dash -c '/usr/bin/true; exit 0' 2>"$here/real-stderr-one.log"
trace -f /usr/bin/printf 'one\ntwo\nthree' >"$here/real-output.log" 2>&1
trace -f /tmp/corpus-threads 2>"$here/real-threads-stderr.log"
trace -f -C -o "$here/real-threads.log" /tmp/corpus-threads
trace -f -ttt -C -o "$here/real-threads-ttt.log" /tmp/corpus-threads
trace -f -C -o "$here/real-thread-exec.log" /tmp/corpus-threads exec
trace -f -C -o "$here/real-killed.log" /tmp/corpus-threads kill || true
trace -f -C -o "$here/real-waits.log" /tmp/corpus-threads waits

# Tables alone.
trace -f -c -o "$here/real-table.log" /usr/bin/dash -c "$script" || [ $? = 3 ]
trace -f -c -w -o "$here/real-table-w.log" /usr/bin/true
trace -f -c -U name,calls,errors,max-time,avg-time -o "$here/real-table-columns.log" /usr/bin/true

# One file per process.
rm -rf "$here/ff"
mkdir "$here/ff"
trace -ff -ttt -o "$here/ff/log" /usr/bin/dash -c "$script" || [ $? = 3 ]
rm -rf "$here/ff-threads"
mkdir "$here/ff-threads"
trace -ff -o "$here/ff-threads/log" /tmp/corpus-threads

rm -f /tmp/corpus-threads
