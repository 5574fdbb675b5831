#!/usr/bin/env python3
"""dns-load.py PORT RATE SECONDS: asks a name server on 127.0.0.1 RATE times a second for api.example.test.

Prints how many answers came. book/src/measured.md shows how it is used.
"""

import socket
import sys
import time

if len(sys.argv) != 4:
    sys.exit("usage: dns-load.py PORT RATE SECONDS")
port, rate, seconds = (int(word) for word in sys.argv[1:])
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.connect(("127.0.0.1", port))
server.settimeout(1)
question = bytes.fromhex("00010100000100000000000003617069076578616d706c6504746573740000010001")
answers, begin = 0, time.monotonic()
while (passed := time.monotonic() - begin) < seconds:
    if answers > passed * rate:
        time.sleep(0.001)
        continue
    try:
        server.send(question)
        server.recv(512)
    except ConnectionRefusedError:  # the server has ended
        break
    answers += 1
print(f"{answers} answers, {answers / passed:.0f} a second")
