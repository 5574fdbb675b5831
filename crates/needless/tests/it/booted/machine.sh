#!/bin/bash
# machine.sh FOLDER TOOLS DEBS...: boots this machine's own systemd as PID 1 of namespaces, over a throw-away
# overlay of /. FOLDER/bring is copied to /usr/local/bin, the packages in each TOOLS/DEBS are unpacked. Stays
# until PID 1 ends. Nothing outside of the namespaces is written, but for FOLDER and a control group.
set -euo pipefail
folder=$1
tools=$2
shift 2
name=needless-test-$$
group=
for mount in /sys/fs/cgroup /sys/fs/cgroup/unified; do
    [ -e "$mount/cgroup.procs" ] && [ "$(stat -f -c %T "$mount")" = cgroup2fs ] && { group=$mount/$name; break; }
done
[ -n "$group" ] || { echo "no cgroup2 is mounted here" >&2; exit 1; }
mkdir "$group"
trap 'find "$group" -depth -type d -exec rmdir {} \; 2>/dev/null || true' EXIT
echo "$group" >"$folder/group"
inside='
set -eu
mount -t tmpfs tmpfs "$1/mnt"
mkdir "$1"/mnt/u "$1"/mnt/w "$1"/mnt/m
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/mnt/u,workdir=$1/mnt/w" "$1/mnt/m"
R=$1/mnt/m
mount -t proc proc $R/proc
# Or the systemd in here would set the limits of the kernel that all share.
mount --bind $R/proc/sys $R/proc/sys
mount -o remount,bind,ro $R/proc/sys
mount -t sysfs -o ro sysfs $R/sys
mount -t tmpfs tmpfs $R/sys/fs/cgroup 2>/dev/null && umount $R/sys/fs/cgroup
mount -t cgroup2 cgroup2 $R/sys/fs/cgroup
for dir in dev run tmp; do mount -t tmpfs -o mode=755 tmpfs $R/$dir; done
chmod 1777 $R/tmp
for node in "null 1 3" "zero 1 5" "full 1 7" "random 1 8" "urandom 1 9" "tty 5 0"; do
    set -- "$1" "$2" "$3" $node
    mknod -m 666 $R/dev/$4 c $5 $6
done
mkdir $R/dev/pts $R/dev/shm
mount -t devpts -o newinstance,ptmxmode=666 devpts $R/dev/pts
ln -s pts/ptmx $R/dev/ptmx
ln -s /proc/self/fd $R/dev/fd
cp -a "$1"/bring/. $R/usr/local/bin/
# Daemons that are tested and not installed: their packages unpacked, links of /lib and /bin kept.
for debs in $3; do
    for deb in "$2/$debs"/*.deb; do
        [ ! -e "$deb" ] || dpkg --fsys-tarfile "$deb" | tar -x --keep-directory-symlink -C $R
    done
done
# sshd is tested on it.
ip link set lo up
mkdir $R/old
cd $R
pivot_root . old
umount -l /old
exec setpriv --bounding-set -sys_module,-sys_time,-sys_rawio,-syslog --inh-caps -sys_module,-sys_time,-sys_rawio,-syslog \
    env -i container=needless-test PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    /lib/systemd/systemd --unit=basic.target --log-target=null
'
mkdir -p "$folder/mnt"
(
    echo $BASHPID >"$group/cgroup.procs"
    exec unshare --mount --propagation private --uts --ipc --net --cgroup --pid --fork --kill-child=SIGKILL \
        bash -c "$inside" bash "$folder" "$tools" "$*"
) </dev/null >"$folder/log" 2>&1 &
wait $!
