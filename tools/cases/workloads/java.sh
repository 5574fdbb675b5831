#!/bin/sh
# Java runs a class.
# needs: javac java
# note: java-container-check is shown on demand
set -eu
prepare() { echo 'class A { public static void main(String[] a) { System.out.println(1); } }' >A.java && javac A.java; }
run() { java -cp . A >/dev/null; }
"$@"
