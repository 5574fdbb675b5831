#!/bin/sh
# curl with each of its libraries in a directory of its own, and with all of them in one.
mkdir bad good one
n=0
path=
for library in $(ldd /usr/bin/curl | awk '$3 ~ /^\// {print $3}' | grep -vE '/(libc|libm|libdl|libpthread)[.]so'); do
    n=$((n + 1))
    mkdir -p store/h$n/lib
    cp -L "$library" store/h$n/lib/
    cp -L "$library" one/
    path=$path:@/store/h$n/lib
done
cp /usr/bin/curl bad/
cp /usr/bin/curl good/
for file in bad/curl store/*/lib/*; do patchelf --set-rpath "${path#:}" "$file"; done
for file in good/curl one/*; do patchelf --set-rpath @/one "$file"; done
