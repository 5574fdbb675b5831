#!/bin/sh
# What the healthy programs work on.
chmod 755 .
seq 20000 >n
printf '#include <stdio.h>\nint main(void){puts("x");return 0;}\n' >c.c
mkdir d
for i in $(seq 50); do echo "$i" >"d/f$i"; done
tar cf a.tar d
git init -q g
for i in 1 2 3; do seq $i 400 >g/f$i; done
git -C g add .
git -C g -c user.name=a -c user.email=a commit -qm one
seq 500 >>g/f1
printf 'all: c\n\techo x\nc: c.c\n\tgcc -O2 -o c c.c\n' >Makefile
printf 'import json\nprint(json.dumps([1, 2]))\n' >p.py
printf 'import a\ndef test_one(): assert a.one() == 1\n' >t.py
printf 'def one(): return 1\n' >a.py
echo '{"a": [1, 2]}' >j.json
mkdir out home deb cm
mkdir -p deb/DEBIAN deb/opt/x
seq 100 >deb/opt/x/f
printf 'Package: x\nVersion: 1\nArchitecture: all\nMaintainer: x <x>\nDescription: x\n' >deb/DEBIAN/control
cp c.c cm
printf 'cmake_minimum_required(VERSION 3.10)\nproject(x C)\nadd_executable(x c.c)\n' >cm/CMakeLists.txt
for i in $(seq 20); do
    echo "all: o$i.o"
    printf 'o%d.o: c.c\n\tgcc -c -o o%d.o c.c\n' "$i" "$i"
done >many.mk
echo 'fn main() { println!("x") }' >r.rs
printf 'package main\nfunc main() { println(1) }\n' >x.go
printf 'create table t(a); insert into t values(1); insert into t values(2);' >q.sql
