# Everything needless needs is installed, said and checked by these four words.
# They work on a bare Debian 12 or Ubuntu 24.04 with git, make and root or sudo.

.PHONY: demo test bench audit

demo:  ## build, and show the main job on a sample and on a real program
	@scripts/demo

test:  ## everything: format, lints, laws of the house, all tests, the README's examples
	@scripts/test

bench: ## speed beside strace, as ratios within one run
	@scripts/install build
	@. scripts/lib.sh && use_cargo && cargo run --release --locked -p xtask -- bench

audit: ## known security advisories against Cargo.lock; needs the network
	@scripts/install test
	@. scripts/lib.sh && use_cargo && "$$deny" --locked check advisories
