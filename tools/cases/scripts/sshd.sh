#!/bin/sh
# A server of logins with keys of its own.
ssh-keygen -q -t ed25519 -N '' -f host
ssh-keygen -q -t ed25519 -N '' -f key
cat >sshd.conf <<'END'
ListenAddress 127.0.0.1:8099
HostKey @/host
AuthorizedKeysFile @/key.pub
PidFile @/server.pid
StrictModes no
UsePAM no
PermitRootLogin yes
END
