#!/bin/sh
# A program that asks another five hundred times and waits for each answer.
cat >echo.py <<'END'
import sys
for line in sys.stdin: print(line.strip())
END
cat >driver.py <<'END'
import os, subprocess
os.environ["PYTHONUNBUFFERED"] = "1"
p = subprocess.Popen(["python3", "echo.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
for n in range(500):
    p.stdin.write(str(n) + chr(10))
    p.stdout.readline()
p.stdin.close()
END
