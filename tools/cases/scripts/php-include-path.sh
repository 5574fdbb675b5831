#!/bin/sh
# Thirty files to include, and a program whose include_path has five empty directories before theirs.
here=$(pwd)
empty=
for n in 1 2 3 4 5; do
    mkdir p$n
    empty=$empty$here/p$n:
done
mkdir lib good
for n in $(seq 30); do
    echo "<?php \$x = $n;" >"lib/f$n.php"
    echo "include 'f$n.php';" >>includes
done
{
    echo '<?php'
    echo "ini_set('include_path', is_dir(ini_get('include_path')) ? '$here/lib' : '$empty$here/lib');"
    cat includes
} >main.php
