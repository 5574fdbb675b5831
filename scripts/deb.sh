# Sourced by the scripts that make Debian's packages: what all of them have. package_facts was called before.

# debian_documents DOC NAME: Debian's changelog and copyright in the package's folder of documents, which has the project's
# CHANGELOG.md.
debian_documents() {
    mv "$1/CHANGELOG.md" "$1/changelog"
    cat >"$1/changelog.Debian" <<END
$2 ($version-1) unstable; urgency=medium

  * The changes are in changelog.gz.

 -- $maintainer  $(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")
END
    gzip -9n "$1/changelog" "$1/changelog.Debian"
    {
        cat <<'END'
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: needless

Files: *
Copyright: 2026 The needless authors
License: MIT or Apache-2.0

License: MIT
END
        sed -n '3,$p' LICENSE-MIT |
        sed 's/^$/./; s/^/ /'
        cat <<'END'

License: Apache-2.0
 On Debian systems the text of this licence is in
 /usr/share/common-licenses/Apache-2.0.
END
    } >"$1/copyright"
}

# debian_depends WORK NAME FILE…: the packages whose libraries the files below WORK/debian/NAME need. dpkg-shlibdeps reads a
# debian/control in the working directory, and needs no more of it than this.
debian_depends() {
    local work=$1 name=$2 depends
    shift 2
    printf 'Source: needless\n\nPackage: %s\nArchitecture: any\n' "$name" >"$work/debian/control"
    depends=$(cd "$work" && dpkg-shlibdeps -O "${@/#/debian/$name/}")
    printf '%s\n' "${depends#shlibs:Depends=}"
}

# debian_pack ROOT NAME OUT: prints the path of the package. ROOT/DEBIAN has its control file. The same files give the same
# bytes.
debian_pack() {
    local package
    package=$3/$2_$version-1_$(dpkg --print-architecture).deb
    ( cd "$1" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum >DEBIAN/md5sums )
    find "$1/DEBIAN" -type f ! -name postrm -exec chmod 644 {} +
    find "$1" -newermt "@$SOURCE_DATE_EPOCH" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
    mkdir -p "$3"
    dpkg-deb --root-owner-group -Zxz --build "$1" "$package" >/dev/null
    printf '%s\n' "$package"
}
