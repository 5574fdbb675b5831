#!/bin/sh
# Four packages, eight directories above the file that requires them and beside it.
deep=a/b/c/d/e/f/g/h
mkdir -p bad/$deep good/$deep
for folder in bad good/$deep; do
    for package in one two three four; do
        mkdir -p "$folder/node_modules/$package"
        echo '{"name": "'"$package"'", "main": "i.js"}' >"$folder/node_modules/$package/package.json"
        echo 1 >"$folder/node_modules/$package/i.js"
    done
done
echo '{}' >good/$deep/package.json
for arm in bad good; do
    echo 'for (const p of ["one", "two", "three", "four"]) require(p)' >$arm/$deep/main.js
done
