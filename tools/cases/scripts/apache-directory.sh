#!/bin/sh
# Apache, with the line $bad or the line $good for all directories.
chmod 755 .
mkdir -p www/a/b/c
seq 100 >www/a/b/c/f.html
for arm in bad good; do
    if [ $arm = bad ]; then line=${bad:?}; else line=${good:?}; fi
    {
        for module in mpm_prefork authz_core; do
            echo "LoadModule ${module}_module /usr/lib/apache2/modules/mod_$module.so"
        done
        cat <<END
Listen 127.0.0.1:8099
ServerName x
KeepAlive Off
PidFile @/server.pid
ErrorLog @/error.log
User www-data
Group www-data
DocumentRoot @/www
<Directory />
    AllowOverride None
    Require all granted
    $line
</Directory>
END
    } >$arm.conf
done
