//! ## What it finds
//!
//! Directories of LD_LIBRARY_PATH in which the loader looks for every library of every program and
//! finds none.
//!
//! ## Why it happens
//!
//! The loader searches the variable's directories before its cache. In each it first tries the
//! subdirectories for processor variants, once: 16 to 38 calls with glibc 2.36, depending on the
//! processor, 8 at most since glibc 2.37. Then it tries the directory itself, for each library. Every
//! program that inherits the variable pays, at every start.
//!
//! ## Example
//!
//! ```trace
//! env LD_LIBRARY_PATH=/opt/a/lib:/opt/b/lib
//! execve("/usr/bin/git", ["git"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/opt/a/lib/glibc-hwcaps/x86-64-v3/libz.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/a/lib/glibc-hwcaps/x86-64-v3", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/lib/libz.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/a/lib", {st_mode=S_IFDIR|0755, st_size=60, ...}, 0) = 0
//! openat(AT_FDCWD, "/opt/b/lib/glibc-hwcaps/x86-64-v3/libz.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/b/lib/glibc-hwcaps/x86-64-v3", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/b/lib/libz.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/b/lib", {st_mode=S_IFDIR|0755, st_size=60, ...}, 0) = 0
//! openat(AT_FDCWD, "/etc/ld.so.cache", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libz.so.1", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! library-search: 8 of 8
//! stage explained
//! unset LD_LIBRARY_PATH
//! ```
//!
//! One of them holds a library, the others none:
//!
//! ```trace
//! env LD_LIBRARY_PATH=/opt/a/lib:/opt/b/lib/:/opt/c/lib
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/opt/a/lib/libp.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/lib/libq.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/lib/libr.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/b/lib/libp.so.1", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/opt/b/lib/libq.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/c/lib/libq.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/b/lib/libr.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/c/lib/libr.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/b/lib/libs.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/c/lib/libs.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! ```
//! ```finding
//! library-search: 6 of 10
//! set LD_LIBRARY_PATH=/opt/b/lib
//! ```
//!
//! A semicolon ends an entry, too:
//!
//! ```trace
//! env LD_LIBRARY_PATH=/opt/x;/opt/y
//! execve("/usr/bin/git", ["git"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/opt/x/libz.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/x", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/y/glibc-hwcaps/x86-64-v3/libz.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/y/glibc-hwcaps/x86-64-v2/libz.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/y/libz.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/y", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! ```
//! ```finding
//! library-search: 6 of 6
//! unset LD_LIBRARY_PATH
//! ```
//!
//! A processor that has one name as its platform and as its capability: the loader tries such a subdirectory twice.
//!
//! ```trace
//! env LD_LIBRARY_PATH=/opt/x
//! execve("/usr/bin/git", ["git"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/opt/x/x86_64/x86_64/libz.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/x/x86_64/x86_64", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! repeat 2
//! openat(AT_FDCWD, "/opt/x/x86_64/libz.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/x/x86_64", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! end
//! openat(AT_FDCWD, "/opt/x/libz.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/x", {st_mode=S_IFDIR|0755, st_size=4096, ...}, 0) = 0
//! ```
//! ```finding
//! library-search: 8 of 8
//! unset LD_LIBRARY_PATH
//! ```
//!
//! Two lists with the same directories, as `thisroot.sh` makes them: the loader asks once whether a directory is
//! there, and what else is asked of it is Python's.
//!
//! ```trace
//! env LD_LIBRARY_PATH=/opt/root/lib:/opt/x/lib PYTHONPATH=/opt/root/lib:/opt/x/lib
//! execve("/usr/bin/python3", ["/usr/bin/python3", "-c", "import json"], 0x7fff3b4da148 /* 6 vars */) = 0
//! openat(AT_FDCWD, "/opt/root/lib/glibc-hwcaps/x86-64-v3/libm.so.6", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/root/lib/glibc-hwcaps/x86-64-v3", 0x7ffe82d11ad0, 0) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/root/lib/libm.so.6", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/root/lib", {st_mode=S_IFDIR|0755, st_size=4096, ...}, 0) = 0
//! openat(AT_FDCWD, "/opt/x/lib/glibc-hwcaps/x86-64-v3/libm.so.6", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/x/lib/glibc-hwcaps/x86-64-v3", 0x7ffe82d11ad0, 0) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/x/lib/libm.so.6", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/x/lib", {st_mode=S_IFDIR|0755, st_size=4096, ...}, 0) = 0
//! openat(AT_FDCWD, "/etc/ld.so.cache", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libm.so.6", O_RDONLY|O_CLOEXEC) = 3
//! repeat 27
//! newfstatat(AT_FDCWD, "/opt/root/lib", {st_mode=S_IFDIR|0755, st_size=4096, ...}, 0) = 0
//! newfstatat(AT_FDCWD, "/opt/x/lib", {st_mode=S_IFDIR|0755, st_size=4096, ...}, 0) = 0
//! end
//! openat(AT_FDCWD, "/opt/root/lib", O_RDONLY|O_NONBLOCK|O_CLOEXEC|O_DIRECTORY) = 3
//! openat(AT_FDCWD, "/opt/x/lib", O_RDONLY|O_NONBLOCK|O_CLOEXEC|O_DIRECTORY) = 3
//! ```
//! ```finding
//! library-search: 8 of 8
//! unset LD_LIBRARY_PATH
//! python-path: 56 of 56
//! unset PYTHONPATH
//! ```
//!
//! An empty entry, here the one before the colon, is the current directory:
//!
//! ```trace
//! env LD_LIBRARY_PATH=:/opt/oracle/lib
//! execve("/usr/bin/git", ["git", "--version"], 0x7ffd604163c0 /* 4 vars */) = 0
//! openat(AT_FDCWD, "glibc-hwcaps/x86-64-v3/libpcre2-8.so.0", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "libpcre2-8.so.0", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/oracle/lib/glibc-hwcaps/x86-64-v3/libpcre2-8.so.0", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/oracle/lib/glibc-hwcaps/x86-64-v3", 0x7fffc7a0c010, 0) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/oracle/lib/libpcre2-8.so.0", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/oracle/lib", 0x7fffc7a0c010, 0) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/etc/ld.so.cache", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libpcre2-8.so.0", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "glibc-hwcaps/x86-64-v3/libz.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "libz.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libz.so.1", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! library-search: 8 of 8
//! unset LD_LIBRARY_PATH
//! ```
//!
//! A relative entry starts in the current directory:
//!
//! ```trace
//! env LD_LIBRARY_PATH=lib/:../x:/opt/oracle/lib
//! execve("/usr/bin/git", ["git", "--version"], 0x7ffd604163c0 /* 4 vars */) = 0
//! openat(AT_FDCWD, "lib/glibc-hwcaps/x86-64-v3/libpcre2-8.so.0", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "lib/libpcre2-8.so.0", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "../x/glibc-hwcaps/x86-64-v3/libpcre2-8.so.0", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "../x/libpcre2-8.so.0", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/oracle/lib/libpcre2-8.so.0", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "lib/glibc-hwcaps/x86-64-v3/libz.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "lib/libz.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "../x/libz.so.1", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "lib/glibc-hwcaps/x86-64-v3/libc.so.6", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "lib/libc.so.6", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "../x/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! library-search: 6 of 11
//! set LD_LIBRARY_PATH=../x:/opt/oracle/lib
//! ```
//!
//! The same from a log without the environment, where the path of the current directory is known.
//! The loader does not check whether the directory of an empty entry exists:
//!
//! ```trace
//! execve("/usr/bin/git", ["git", "--version"], 0x7ffd604163c0 /* 4 vars */) = 0
//! openat(AT_FDCWD</home/me>, "glibc-hwcaps/x86-64-v3/libpcre2-8.so.0", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD</home/me>, "glibc-hwcaps/x86-64-v2/libpcre2-8.so.0", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD</home/me>, "libpcre2-8.so.0", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD</home/me>, "/etc/ld.so.cache", O_RDONLY|O_CLOEXEC) = 3</etc/ld.so.cache>
//! openat(AT_FDCWD</home/me>, "/lib/x86_64-linux-gnu/libpcre2-8.so.0", O_RDONLY|O_CLOEXEC) = 3</lib/x86_64-linux-gnu/libpcre2-8.so.0>
//! openat(AT_FDCWD</home/me>, "glibc-hwcaps/x86-64-v3/libz.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD</home/me>, "glibc-hwcaps/x86-64-v2/libz.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD</home/me>, "libz.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD</home/me>, "/lib/x86_64-linux-gnu/libz.so.1", O_RDONLY|O_CLOEXEC) = 3</lib/x86_64-linux-gnu/libz.so.1>
//! ```
//! ```finding
//! library-search: 6 of 6
//! manual
//! ```
//!
//! A RUNPATH names the directory as well. The loader looks for its subdirectories once, however
//! often it is named, and for a library once for each mention: only the latter is saved without the
//! variable.
//!
//! ```trace
//! env LD_LIBRARY_PATH=/opt/a/lib
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/opt/a/lib/glibc-hwcaps/x86-64-v3/libp.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/a/lib/glibc-hwcaps/x86-64-v3", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/lib/libp.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory) x2
//! newfstatat(AT_FDCWD, "/opt/a/lib", {st_mode=S_IFDIR|0755, st_size=60, ...}, 0) = 0
//! openat(AT_FDCWD, "/opt/a/lib/libq.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory) x2
//! openat(AT_FDCWD, "/opt/a/lib/libr.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory) x2
//! openat(AT_FDCWD, "/opt/a/lib/libs.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory) x2
//! openat(AT_FDCWD, "/opt/a/lib/libt.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory) x2
//! openat(AT_FDCWD, "/opt/a/lib/libc.so.6", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libp.so.1", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libq.so.1", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libr.so.1", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libs.so.1", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libt.so.1", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! library-search: 6 of 14
//! unset LD_LIBRARY_PATH
//! ```
//!
//! A 32-bit program, whose loader checks a directory with another call:
//!
//! ```trace
//! env LD_LIBRARY_PATH=/opt/a/lib
//! execve("/opt/app/bin/app", ["app"], 0xffd5e8b8 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/opt/a/lib/libm.so.6", O_RDONLY|O_LARGEFILE|O_CLOEXEC) = -1 ENOENT (No such file or directory) x6
//! statx(AT_FDCWD, "/opt/a/lib", AT_STATX_SYNC_AS_STAT|AT_NO_AUTOMOUNT, STATX_BASIC_STATS, 0xffc0a3e0) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/etc/ld.so.cache", O_RDONLY|O_LARGEFILE|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/lib/i386-linux-gnu/libc.so.6", O_RDONLY|O_LARGEFILE|O_CLOEXEC) = 3
//! ```
//! ```finding
//! library-search: 7 of 7
//! unset LD_LIBRARY_PATH
//! ```
//!
//! ## Not a finding
//!
//! The one directory that holds the library that the program came with:
//!
//! ```trace
//! env LD_LIBRARY_PATH=/opt/app/lib
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/opt/app/lib/glibc-hwcaps/x86-64-v4/libapp.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/app/lib/glibc-hwcaps/x86-64-v3/libapp.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/app/lib/glibc-hwcaps/x86-64-v2/libapp.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/app/lib/tls/haswell/libapp.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/app/lib/tls/libapp.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/app/lib/x86_64/libapp.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/app/lib/libapp.so.1", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/opt/app/lib/libc.so.6", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/app/lib/libm.so.6", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/etc/ld.so.cache", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! nothing
//! ```
//!
//! A directory in which a program looks for its own files, as a compiler that resolves the path of
//! each:
//!
//! ```trace
//! env LD_LIBRARY_PATH=/build/target/deps
//! execve("/usr/bin/gcc", ["gcc"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 300
//! readlink("/build/target/deps", 0x7ffc0c0a3ee0, 1023) = -1 EINVAL (Invalid argument)
//! readlink("/build/target/deps/one.o", 0x7ffc0c0a3ee0, 1023) = -1 EINVAL (Invalid argument)
//! end
//! ```
//! ```finding
//! nothing
//! ```
//!
//! A set-user-ID program ignores the variable: these calls are its own.
//!
//! ```trace
//! secure
//! env LD_LIBRARY_PATH=/opt/a/lib
//! execve("/usr/bin/su", ["su"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/opt/a/lib/liba.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/lib/libb.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/lib/libc.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/lib/libd.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/lib/libe.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/lib/libf.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/lib/libg.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/lib/libh.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! ```
//! ```finding
//! nothing
//! ```
//!
//! A compiled program between the command and the process sets the list, as cargo does for the
//! compiler: its user cannot change that. It is shown with `-vv`; otherwise a notice says
//! how many calls it is.
//!
//! ```trace
//! execve("/usr/bin/cargo", ["cargo"], []) = 0
//! execve("/usr/bin/rustc", ["rustc"], ["LD_LIBRARY_PATH=/build/target/deps"]) = 0
//! openat(AT_FDCWD, "/build/target/deps/liba.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/build/target/deps/libb.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/build/target/deps/libc.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/build/target/deps/libd.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/build/target/deps/libe.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/build/target/deps/libf.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/build/target/deps/libg.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/build/target/deps/libh.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Unset LD_LIBRARY_PATH, or leave only the directories that hold something. Do not do this if a
//! program that was not observed needs a library from them, or loads one later with `dlopen()`. If
//! one program needs a directory, a RUNPATH serves that program alone. The order of the remaining
//! entries is kept: it decides which of two libraries with the same name is loaded. An empty entry
//! (a colon at the start or the end, or two together) is the current directory of each program:
//! anybody who may write there decides which library it loads. Relative entries start there, too.
//! If a RUNPATH also names a directory that does not exist, no call shows it: the loader remembers
//! that the directory is missing. Without the variable it checks the directory once more, for the
//! RUNPATH.
//!
//! ## References
//!
//! * `man 8 ld.so`, LD_LIBRARY_PATH
//! * glibc, `elf/dl-load.c`
//! * <https://github.com/gluster/glusterfs/issues/2348>: a test suite that took a third longer

use crate::Rule;
use crate::engine::helpers::heeds_variables;
use crate::lists::DuplicateEntry;
use crate::lists::{Search, Searcher};
use crate::mechanism::loader::{base, is_library};

pub(crate) const RULE: Rule = Rule {
    name: "library-search",
    summary: "LD_LIBRARY_PATH lists directories that hold none of the libraries that programs load",
    variables: &["LD_LIBRARY_PATH"],
    lists: &[LIST],
    ..Rule::PLAIN
};

const LIST: Search = Search {
    variable: "LD_LIBRARY_PATH",
    who: |view, id| heeds_variables(view.process(id)),
    file: is_library,
    searcher: Searcher::Loader,
    usual: |dir| dir == "/",
    base,
    again: DuplicateEntry::Loader,
    things: "libraries",
    why: "The loader tries each directory of the list for each library, the first time with subdirectories for processor variants.",
    manual: "Find out what makes the loader search these directories: LD_LIBRARY_PATH in the environment, or the RUNPATH of the program (readelf -d)",
    caveat: "Another run of this program, or another program, may need a library from these directories, and \
             so may a later dlopen(): look into them first.",
    ..Search::BY_PROGRAM
};
