#!/bin/sh
# javac compiles a class.
# needs: javac
# note: java-container-check is shown on demand
set -eu
prepare() { echo 'class A { public static void main(String[] a) { System.out.println(1); } }' >A.java; }
run() { javac A.java; }
"$@"
