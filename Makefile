# Everything needless needs is installed, said and checked by these words.
# They work on a bare Debian 12 with git, make and root or sudo.

.PHONY: demo build fleet fleet-deb install uninstall deb rpm reproducible check test test-long bench cases workloads peers peers-sample lab audit cross kernels

demo:  ## build, and show the main job on a sample and on a real program
	@scripts/demo

build: ## the optimised program, its manual pages and completions, in target/stage
	@scripts/build

# Packages set both: make install PREFIX=/usr DESTDIR=/tmp/package
PREFIX ?= /usr/local
export PREFIX DESTDIR

install: ## what was built, below $DESTDIR$PREFIX: by default /usr/local
	@scripts/install-files install

uninstall: ## removes exactly what make install installed there
	@scripts/install-files uninstall

fleet: ## needless-fleet, which asks the files of many hosts; its SQL engine takes a quarter of an hour to compile
	@scripts/fleet build

deb:   ## a package for Debian, checked by lintian
	@scripts/install deb
	@scripts/build
	@built=$${CARGO_TARGET_DIR:-target} && scripts/check-deb "$$built/stage" "$$built"

fleet-deb: ## a package of needless-fleet for Debian, checked by lintian
	@scripts/install deb
	@scripts/fleet build
	@built=$${CARGO_TARGET_DIR:-target} && scripts/check-fleet-deb "$$built/fleet-query/release" "$$built"

rpm:   ## a package for systems with rpm, checked by rpmlint
	@scripts/install rpm
	@scripts/build
	@built=$${CARGO_TARGET_DIR:-target} && package=$$(scripts/rpm "$$built/stage" "$$built") \
	    && rpmlint --rpmlintrc packaging/rpm/rpmlintrc "$$package" && echo "$$package"

reproducible: ## is the optimised program the same, byte for byte, in whatever folder it is built? two builds
	@scripts/install deb
	@scripts/check-reproducible

check: ## the inner loop: format, laws of the house, lints, unit tests; no root needed, minutes
	@scripts/check

test:  ## all that a change can break: format, laws of the house, lints, tests, the README's examples; a quarter of an hour
	@scripts/test

test-long: ## the rest: kills, peers, engines, packages, bare systems, emulators; hours. PARTS="kills fleet" runs these
	@scripts/test-long $(PARTS)

bench: ## speed beside strace, as ratios within one run
	@scripts/install build
	@. scripts/lib.sh && use_cargo && cargo run --release --locked -p xtask -- bench

cases: ## real programs, healthy and not, beside strace: what is found, and how far predictions are off
	@scripts/install cases
	@. scripts/lib.sh && use_cargo && same_paths && cargo build --release --locked -p needless \
	    && cargo run --release --locked -p xtask -- cases

workloads: ## ordinary jobs: what is avoidable in them, found by hand, and what their account shows
	@scripts/install workloads
	@. scripts/lib.sh && use_cargo && same_paths && cargo build --release --locked -p needless \
	    && cargo run --release --locked -p xtask -- workloads

peers: ## do strace's own test programs and suites of others end as they do without needless? half an hour
	@scripts/install test
	@scripts/install peers
	@. scripts/lib.sh && use_cargo && cargo build --locked -p needless -p needless-ptrace \
	    && tools/peer/strace-tests && tools/peer/suites

peers-sample: ## 60 of strace's own test programs in each mode: a minute, after one for building them
	@scripts/install test
	@scripts/install peers
	@. scripts/lib.sh && use_cargo && cargo build --locked -p needless -p needless-ptrace \
	    && tools/peer/strace-tests --take 60

lab:   ## published measurements, made again on this machine, beside their figures
	@scripts/install lab
	@. scripts/lib.sh && use_cargo && cargo xtask lab tz && cargo xtask lab locale && cargo xtask lab locale --as-in-2001

audit: ## known security advisories against Cargo.lock; needs the network
	@scripts/install test
	@. scripts/lib.sh && use_cargo && "$$deny" --locked check advisories \
	    && cd crates/fleet-query && "$$deny" --locked check advisories

cross: ## does it build for aarch64 and ppc64le; unit tests, the preloaded library, read, explain and fix there, emulated
	@scripts/cross-time

kernels: ## eBPF and ptrace on Debian's Linux 5.10, 6.1 and 6.12, and on aarch64, in an emulator; loss of power and sleep: ten minutes after the builds
	@scripts/install build
	@scripts/install kernels
	@tools/kernels/build && tools/kernels/run && tools/kernels/restart
