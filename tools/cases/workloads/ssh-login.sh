#!/bin/sh
# Five logins by ssh.
# needs: ssh sshd ssh-keygen
# note: What the shell of the login reads
set -eu
prepare() {
    mkdir -p /run/sshd
    ssh-keygen -q -t ed25519 -N '' -f host
    ssh-keygen -q -t ed25519 -N '' -f key
    cat >sshd.conf <<END
ListenAddress 127.0.0.1:8099
HostKey $PWD/host
AuthorizedKeysFile $PWD/key.pub
PidFile $PWD/sshd.pid
StrictModes no
UsePAM no
PermitRootLogin yes
END
}
run() {
    rm -f sshd.pid
    "$(command -v sshd)" -f "$PWD/sshd.conf"
    until [ -s sshd.pid ]; do sleep 0.05; done
    for _ in 1 2 3 4 5; do
        ssh -q -F none -i key -o UserKnownHostsFile="$PWD/known" -o StrictHostKeyChecking=no -p 8099 root@127.0.0.1 true
    done
    kill "$(cat sshd.pid)"
}
"$@"
