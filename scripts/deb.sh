# Sourced by the scripts that make Debian's packages: what all of them have. package_facts was called before.

# debian_documents DOC NAME: Debian's changelog and copyright in the package's folder of documents, which has the project's
# CHANGELOG.md. What the copyright says of the book is there where the book is.
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
END
        cat <<END

Files: usr/bin/*
Copyright: 2026 The needless authors, and those of the crates and libraries that are linked in
License: MIT or Apache-2.0
Comment: Crates of Rust and libraries in C are linked into the program. Each of
 them, with who wrote it, its licence and the text of that, is in
 /usr/share/doc/$2/LICENCES-OF-CRATES.
END
        [ ! -d "$1/html" ] || debian_book
        cat <<'END'

License: MIT
END
        sed -n '3,$p' LICENSE-MIT |
        sed 's/^$/./; s/^/ /'
        cat <<'END'

License: Apache-2.0
 On Debian systems the text of this licence is in
 /usr/share/common-licenses/Apache-2.0.
END
        [ ! -d "$1/html" ] || debian_book_licences
    } >"$1/copyright"
}

# What the pages of the book have of mdBook and of others: see packaging/book/licences/about. The rest of what mdBook brings is
# left out, as packaging/README.md says.
debian_book() {
    cat <<'END'

Files: usr/share/doc/needless/html/*.html
Copyright: 2026 The needless authors
 2015-2026 Mathieu David and the contributors of mdBook
 2022 Fonticons, Inc.
License: (MIT or Apache-2.0) and MPL-2.0 and CC-BY-4.0
Comment: The text is of needless, the frame around it of mdBook, and the icons
 in it of Font Awesome Free 6.2.0, https://fontawesome.com, unchanged.

Files: usr/share/doc/needless/html/book-*.js
 usr/share/doc/needless/html/toc-*.js
 usr/share/doc/needless/html/css/*
 usr/share/doc/needless/html/favicon-*
Copyright: 2015-2026 Mathieu David and the contributors of mdBook
License: MPL-2.0
Comment: As mdBook writes them. Its source is at
 https://github.com/rust-lang/mdBook.
END
}

debian_book_licences() {
    cat <<'END'

License: MPL-2.0
 On Debian systems the text of this licence is in
 /usr/share/common-licenses/MPL-2.0.

License: CC-BY-4.0
END
    # Debian 12 does not have it among its common licences.
    sed 's/[[:space:]]*$//; s/^$/./; s/^/ /' packaging/book/licences/CC-BY-4.0
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
    find "$1/DEBIAN" -type f ! -name postinst ! -name prerm ! -name postrm -exec chmod 644 {} +
    find "$1" -newermt "@$SOURCE_DATE_EPOCH" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
    mkdir -p "$3"
    dpkg-deb --root-owner-group -Zxz --build "$1" "$package" >/dev/null
    printf '%s\n' "$package"
}
