#!/bin/sh
# Fifty files, each included twenty times.
echo @:/usr/share/php >bad
echo >good
mkdir -p a/b/c/d/e
for i in $(seq 50); do echo "<?php \$x=$i;" >"a/b/c/d/e/f$i.php"; done
cat >main.php <<'END'
<?php for ($k=0;$k<20;$k++) for ($i=1;$i<=50;$i++) include '@/a/b/c/d/e/f'.$i.'.php';
END
