#!/bin/sh
# A program that is told again and again that the other end of its pipe is closed.
for arm in bad good; do
    cat >$arm <<END
import os, select
r, w = os.pipe()
os.close(w)
poll = select.poll()
poll.register(r, select.POLLIN)
for n in range(5000):
    for fd, event in poll.poll(1000):
        if event & select.POLLHUP and "$arm" == "good":
            raise SystemExit
END
done
