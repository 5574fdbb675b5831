#!/bin/sh
# Apache with a log; where log_config is not built in, it is a module.
mkdir -p www/a/b/c
seq 100 >www/a/b/c/f.html
{
    for module in mpm_prefork authz_core log_config; do
        file=/usr/lib/apache2/modules/mod_$module.so
        [ ! -e $file ] || echo "LoadModule ${module}_module $file"
    done
    cat <<'END'
Listen 127.0.0.1:8099
ServerName x
PidFile @/server.pid
ErrorLog @/error.log
User www-data
Group www-data
CustomLog @/access.log "%h %t %r %>s"
DocumentRoot @/www
<Directory />
    AllowOverride None
    Require all granted
</Directory>
END
} >good.conf
