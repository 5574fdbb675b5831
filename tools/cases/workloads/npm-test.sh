#!/bin/sh
# npm test of twenty tests of mocha.
# needs: npm
# better: mocha itself, without npm.
# look: program npm
# note: npm is a program of its own in the account
set -eu
prepare() {
    mkdir test
    echo '{"name":"t","version":"1.0.0","scripts":{"test":"mocha"}}' >package.json
    HOME=$PWD npm install --silent --no-fund --no-audit mocha
    for n in $(seq 20); do echo "it('$n', () => {})"; done >test/all.js
}
run() { HOME=$PWD npm test --silent >/dev/null; }
better() { node_modules/.bin/mocha >/dev/null; }
"$@"
