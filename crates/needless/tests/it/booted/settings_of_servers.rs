//! Settings of servers that `fix` changes, with the real php-fpm and Apache: the calls are gone, and every byte comes back.

use crate::booted::probe::*;
use crate::booted::settings::reports;
use crate::common::*;

/// Asks for a page of PHP without end.
const READER: &str = "#!/usr/bin/perl
use IO::Socket::INET;
while (1) {
    my $s = IO::Socket::INET->new('127.0.0.1:8090') or next;
    print $s \"GET / HTTP/1.0\\r\\n\\r\\n\";
    1 while <$s>;
    select undef, undef, undef, 0.05;
}
";
const SITE: &str = "server { listen 127.0.0.1:8090; location / { include fastcgi_params;
    fastcgi_param SCRIPT_FILENAME /srv/www/main.php; fastcgi_pass unix:/run/php/fpm.sock; } }
";
const PAGE: &str = "<?php for ($n = 0; $n < 20; $n++) for ($i = 0; $i < 50; $i++) include '/srv/www/a/b/f' . $i . '.php'; echo 'done';\n";

#[test]
fn fix_gives_php_fpm_a_larger_cache_of_paths() {
    let Some(machine) = machine_with(&[("reader", READER)], "debs debs-daemons") else { return };
    if machine.has("nginx").is_none() || !observes_others() {
        return;
    }
    let found = machine.ok("basename /usr/sbin/php-fpm[0-9]*");
    let program = found.trim();
    let version = program.trim_start_matches("php-fpm");
    let (unit, dir) = (format!("php{version}-fpm"), format!("/etc/php/{version}/fpm"));
    machine.write("/etc/nginx/conf.d/probe.conf", "644", SITE);
    machine.write("/srv/www/main.php", "644", PAGE);
    machine.write(&format!("{dir}/conf.d/10-small.ini"), "644", "realpath_cache_size = 1\n");
    machine.ok(&format!(
        "mkdir -p /srv/www/a/b /run/php /var/log/nginx /var/lib/nginx; for n in $(seq 0 49); do echo '<?php ' >/srv/www/a/b/f$n.php; done
         sed -i 's,^listen = .*,listen = /run/php/fpm.sock,' {dir}/pool.d/www.conf
         systemctl daemon-reload; systemctl restart {unit} nginx"
    ));
    let mut reader = machine.start("exec /usr/local/bin/reader");
    let before = files(&machine);
    assert!(reports(&machine, &unit, "php-realpath"), "{}", machine.ok("cat /run/r.json"));
    let fix = "needless fix /run/r.json --rule php-realpath --yes";
    let said = machine.ok(&format!("{fix} --restart"));
    eprintln!("{said}");
    for part in [
        "+realpath_cache_size = 16M\n",
        &format!("+++ b{dir}/conf.d/zz-needless.ini"),
        &format!("reloaded: systemctl reload {unit}.service"),
        "in force: realpath_cache_size=16M in php-fpm",
        "It reaches every pool of this php-fpm: a directory",
    ] {
        assert!(said.contains(part), "{part:?} in {said}");
    }
    assert!(!reports(&machine, &unit, "php-realpath"), "{}", machine.ok("cat /run/r.json"));
    // The truth: a worker asks for no part of a path again.
    let worker = "pgrep -n -f '^php-fpm: pool www'";
    let asked = machine
        .ok(&format!("timeout 2 strace -qq -e trace=lstat,newfstatat -p $({worker}) 2>&1; true"));
    assert!(asked.matches("\"/srv/www/a\"").count() < 5, "{asked}");
    let undone = machine.ok("needless undo --last");
    assert!(undone.contains(&format!("systemctl reload {unit}.service")), "{undone}");
    same(&before, &files(&machine), "undo");
    machine.ok(&format!("systemctl reload {unit}; sleep 1"));
    assert!(reports(&machine, &unit, "php-realpath"));
    // Where the cache is off, its size is nothing.
    machine.write(&format!("{dir}/conf.d/20-own.ini"), "644", "open_basedir = /srv:/tmp\n");
    let said = machine.all(fix);
    let why = "open_basedir=/srv:/tmp turns the cache off, whatever its size";
    assert!(said.contains(why) && said.ends_with("rc 2"), "{said}");
    machine.ok(&format!("rm {dir}/conf.d/20-own.ini; echo 'php_admin_value[realpath_cache_size] = 1' >>{dir}/pool.d/www.conf"));
    let said = machine.all(fix);
    assert!(said.contains("a pool of php-fpm sets realpath_cache_size itself"), "{said}");
    let _ = reader.kill();
    let _ = reader.wait();
}

/// Asks for a file four directories below the root of the site, without end.
const ASKER: &str = "#!/usr/bin/perl
use IO::Socket::INET;
while (1) {
    my $s = IO::Socket::INET->new('127.0.0.1:8091') or next;
    print $s \"GET /a/b/c/f.html HTTP/1.0\\r\\n\\r\\n\";
    1 while <$s>;
    select undef, undef, undef, 0.01;
}
";
const OVERRIDES: &str =
    "Listen 127.0.0.1:8091\nServerName localhost\nDocumentRoot /srv/www\n<Directory /srv/www>
    AllowOverride All
    Require all granted
</Directory>
<Directory /srv/*/other>
    AllowOverride All
</Directory>
";

#[test]
fn fix_has_apache_look_for_no_overrides() {
    let Some(machine) = machine_with(&[("asker", ASKER)], "debs-apache") else { return };
    if machine.has("apachectl").is_none() || !observes_others() {
        return;
    }
    let site = "/etc/apache2/sites-enabled/probe.conf";
    machine.write(site, "644", OVERRIDES);
    machine.ok(": >/etc/apache2/ports.conf; mkdir -p /var/log/apache2 /var/www/html /srv/www/a/b/c; echo x >/srv/www/a/b/c/f.html
        a2enmod -q mpm_prefork authz_core env alias; systemctl daemon-reload; systemctl restart apache2");
    let mut asker = machine.start("exec /usr/local/bin/asker");
    let before = files(&machine);
    assert!(reports(&machine, "apache2", "htaccess-search"), "{}", machine.ok("cat /run/r.json"));
    machine.ok("cp /run/r.json /run/found.json");
    let fix = "needless fix /run/found.json --rule htaccess-search --yes";
    // Where one file has a say, it keeps it.
    machine.ok("mkdir /srv/www/private; echo 'Require all denied' >/srv/www/private/.htaccess");
    let said = machine.all(fix);
    assert!(
        said.contains("there is a /srv/www/private/.htaccess") && said.ends_with("rc 2"),
        "{said}"
    );
    same(&before, &files(&machine), "refused");
    machine.ok("rm -r /srv/www/private");
    let said = machine.ok(&format!("{fix} --restart"));
    eprintln!("{said}");
    for part in [
        "AllowOverride None for /srv/www\n",
        "-    AllowOverride All\n+    AllowOverride None\n",
        "A .htaccess below /srv/www is then ignored, also one that is made later",
        "Not everywhere: <Directory /srv/*/other> is about many directories.",
        "reloaded: systemctl reload apache2.service",
        "in force: AllowOverride=None in apache2[",
        " calls per second before, 0 after",
    ] {
        assert!(said.contains(part), "{part:?} in {said}");
    }
    assert!(!reports(&machine, "apache2", "htaccess-search"));
    let worker = "pgrep -n -f '^/usr/sbin/apache2 -k start'";
    let asked =
        machine.ok(&format!("timeout 2 strace -qq -e trace=open,openat -p $({worker}) 2>&1; true"));
    assert!(asked.contains("f.html") && !asked.contains(".htaccess"), "{asked}");
    let said = machine.all(fix);
    assert!(said.contains("is about many directories") && said.ends_with("rc 2"), "{said}");
    let undone = machine.ok("needless undo --last");
    assert!(undone.contains("systemctl reload apache2.service"), "{undone}");
    same(&before, &files(&machine), "undo");
    machine.ok("systemctl reload apache2; sleep 1");
    assert!(reports(&machine, "apache2", "htaccess-search"));
    // A mistake of somebody else.
    machine.write(site, "644", &OVERRIDES.replace("Require", "Requir"));
    let said = machine.all(fix);
    assert!(said.contains("its configuration is wrong now") && said.ends_with("rc 2"), "{said}");
    let _ = asker.kill();
    let _ = asker.wait();
}
