#!/bin/sh
# Ruby and Bundler start.
# needs: ruby bundle
# note: realpath of each file, in Ruby itself
set -eu
prepare() { :; }
run() { ruby -e 0; HOME=$PWD bundle --version >/dev/null; }
"$@"
