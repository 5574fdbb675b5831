# Sourced by the other scripts and by the Makefile: words used by more than one of them.
# Plain sh, for make's own shell sources it too. The working directory is the repository's top.

# The lowest Rust that builds the workspace, from the one place that says it.
rust_needed=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

# Kept below target/, so that removing target/ removes it.
deny=$PWD/target/tools/bin/cargo-deny
nextest=$PWD/target/tools/bin/cargo-nextest

say() { printf 'needless: %s\n' "$*" >&2; }

die() {
    say "$*"
    exit 1
}

# Begins a step. say_times prints how long each took.
heading() {
    printf '\n== %s\n' "$*"
    times=${times-}${step:+$(($(date +%s) - step_began)) s  $step
}
    step=$* step_began=$(date +%s)
}

say_times() {
    heading "times of the steps"
    printf '%s' "$times" | sed 's/^/  /'
}

# at_least 1.88 1.96.0: whether the second version is not older than the first.
at_least() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }

# The version of the cargo that a plain "cargo" starts; nothing where there is none.
cargo_version() { { cargo --version 2>/dev/null || true; } | awk '{print $2}'; }

cargo_is_new_enough() {
    have=$(cargo_version)
    [ -n "$have" ] && at_least "$rust_needed" "$have"
}

# Makes "cargo" one that is new enough, or fails: the one on PATH; rustup's own folder, which is
# on PATH only after the next login; rustup's stable, where the user's default is older.
use_cargo() {
    if cargo_is_new_enough; then return 0; fi
    PATH=${CARGO_HOME:-$HOME/.cargo}/bin:$PATH
    if cargo_is_new_enough; then return 0; fi
    if command -v rustup >/dev/null; then
        RUSTUP_TOOLCHAIN=stable
        export RUSTUP_TOOLCHAIN
        if cargo_is_new_enough; then return 0; fi
        unset RUSTUP_TOOLCHAIN
    fi
    return 1
}

# plan WHAT SENTENCE: says what scripts/install would install for WHAT, and the sentence; on a terminal asks once whether to go on.
plan() {
    local status answer
    say "to be installed first:"
    scripts/install --plan "$1" && status=0 || status=$?
    case $status in
    0) say "  nothing" ;;
    3) ;;
    *) return $status ;;
    esac
    say "$2"
    [ $status = 3 ] && [ -t 0 ] || return 0
    printf 'needless: go on? [Y/n] ' >&2
    read -r answer || die "nothing was done"
    case $answer in [Nn]*) die "nothing was done" ;; esac
}

# A registry may fail for a moment: what only fetches and builds is tried three times.
thrice() { # thrice COMMAND…
    "$@" || { sleep 10 && "$@"; } || { sleep 20 && "$@"; }
}

check_format() {
    cargo fmt --all --check
    # Rules and formats are declared by macros, which cargo fmt does not look into.
    rustfmt --edition 2024 --check crates/rules/src/rule/*/*.rs crates/report/src/*/*.rs
}

# check_lints [cargo's options]: a warning is an error, but for those that only a newer toolchain than any we have seen
# knows: what was right yesterday does not fail tomorrow.
check_lints() {
    if at_least "$(cargo_version)" 1.99.99; then
        cargo clippy --locked "$@" -- -D warnings
    else
        cargo clippy --locked "$@"
    fi
}

# What all tests need, compiled as the tests are: other choices of packages would compile their dependencies again.
build_all() { cargo build --workspace --all-targets --locked; }

# run_tests [cargo nextest's options]. Where a script runs us in the background, SIGINT is ignored (POSIX sh, 2.11) by all
# that is run here, too; some tests send it.
run_tests() { env --default-signal "$nextest" nextest run --workspace --locked "$@"; }

# Makes the file to which each skipped test appends its reason, a tab and its name (tools/fixtures).
count_skipped() {
    NEEDLESS_SKIPPED=$(mktemp)
    export NEEDLESS_SKIPPED
    trap 'rm -f "$NEEDLESS_SKIPPED"' EXIT
}

# The last line: how many tests were skipped, and how many for which reason; one that lacks two things
# has two reasons. Fails where CI is set and there is any.
say_skipped() {
    tests=$(cut -f 2 "$NEEDLESS_SKIPPED" | sort -u | wc -l)
    if [ "$tests" = 0 ]; then
        printf '\nskipped: none\n'
        return
    fi
    [ "$tests" = 1 ] && plural= || plural=s
    reasons=$(sort -u "$NEEDLESS_SKIPPED" | cut -f 1 | uniq -c | sort -k 1,1nr -k 2 \
        | awk '{ count = $1; $1 = ""; printf "%s%d%s", comma, count, $0; comma = ", " }')
    printf '\nskipped: %d test%s: %s\n' "$tests" "$plural" "$reasons"
    if [ -n "${NEEDLESS_UNFETCHED-}" ]; then
        # Tests that lack something else have failed.
        printf 'not fetched: %s\n' "$NEEDLESS_UNFETCHED"
        return
    fi
    [ -z "${CI-}" ]
}

# Tests may be skipped if they need what scripts/install could not fetch this time.
note_unfetched() {
    [ -s target/tools/unfetched ] || return 0
    NEEDLESS_UNFETCHED=$(sort -u target/tools/unfetched | paste -s -d , | sed 's/,/, /g')
    export NEEDLESS_UNFETCHED
    say "not fetched: $NEEDLESS_UNFETCHED: tests that need one of these are skipped"
}

# Sets version, SOURCE_DATE_EPOCH and maintainer as packages have them. What is no release sorts before it, and by the time of its commit.
package_facts() {
    local commit
    version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
    SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(date +%s)}
    if [ -e .git ] && commit=$(git rev-parse --short=10 HEAD 2>/dev/null); then
        SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
        [ "$(git describe --tags --exact-match 2>/dev/null)" = "v$version" ] \
            || version="$version~git$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y%m%d%H%M%S).$commit"
    fi
    export SOURCE_DATE_EPOCH
    # Who answers for a package is who makes it.
    if [ -z "${DEBFULLNAME-}" ] || [ -z "${DEBEMAIL-}" ]; then
        say "the package names no maintainer: set DEBFULLNAME and DEBEMAIL before you make one for others"
    fi
    maintainer="${DEBFULLNAME:-Whoever built this package} <${DEBEMAIL:-unset@example.org}>"
}

# From here on cargo makes the same bytes in each folder: no path of this machine gets into what it compiles. For the
# optimised program only: what it compiles differs from what a plain "cargo build" does, and would be compiled twice.
same_paths() {
    local home built sysroot commit flags separator map
    home=${CARGO_HOME:-$HOME/.cargo}
    built=${CARGO_TARGET_DIR:-target}
    case $built in /*) ;; *) built=$PWD/$built ;; esac
    sysroot=$(rustc --print sysroot)
    commit=$(rustc -vV | sed -n 's/^commit-hash: //p')
    separator=$(printf '\037')
    # This variable hides RUSTFLAGS.
    flags=${CARGO_ENCODED_RUSTFLAGS-$(printf '%s' "${RUSTFLAGS-}" | xargs -n 1 | paste -s -d "$separator")}
    # The last that fits counts. As rustc names its own source where that is not installed.
    for map in "$home=/cargo" "$sysroot/lib/rustlib/src/rust=/rustc/$commit" "$PWD=/needless" "$built=/needless/target"; do
        case $separator$flags$separator in
        *"$separator--remap-path-prefix=$map$separator"*) continue ;;
        esac
        flags=${flags:+$flags$separator}--remap-path-prefix=$map
        # For zstd, by the crate cc.
        CFLAGS="${CFLAGS:+$CFLAGS }-ffile-prefix-map=$map"
    done
    CARGO_ENCODED_RUSTFLAGS=$flags
    export CARGO_ENCODED_RUSTFLAGS CFLAGS
}

# Builds the optimised program and its library. In a shell of its own: what is built later has the flags of the user.
build_optimised() (
    same_paths
    cargo build --release --locked && libneedless/preload/build-so "${CARGO_TARGET_DIR:-target}/release"
)
