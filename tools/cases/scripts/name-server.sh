#!/bin/sh
# A name server that knows one name, and what Kubernetes writes for its clients.
own /etc
ip link set lo up
cat >/etc/resolv.conf <<'END'
search prod.svc.cluster.local svc.cluster.local cluster.local example.internal
nameserver 127.0.0.1
options ndots:5
END
dnsmasq -k -C /dev/null -a 127.0.0.1 -z -u root -R -h --local=/local/ --local=/internal/ \
    --address=/api.example.test/1.2.3.4 --address=/api.example.test/2001:db8::1 --pid-file= >/dev/null 2>&1 &
# shellcheck disable=SC2034 # Read after the run.
helpers=$!
until perl -e 'exit !gethostbyname("api.example.test.")'; do sleep 0.05; done
