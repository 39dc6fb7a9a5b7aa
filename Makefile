# The recipes people and CI use alike. `make help` lists them.
.PHONY: help calibrate test fuzz bench lint setup doc truth clean-lab

CARGO ?= cargo
# Where `make calibrate` measures, and what else it is told: make calibrate AT=/srv/data ARGS='--time 20s'
AT ?= .
ARGS ?=

help:
	@echo 'make calibrate   build fathom and calibrate the disk below AT (default: here)'
	@echo 'make test        format, lints, documentation, all tests'
	@echo 'make lint        the quick part of it: format, lints, the rules of the house'
	@echo 'make fuzz        fuzz every parser, FUZZ_SECONDS each (default: an hour in all)'
	@echo 'make bench       the benchmarks, against fio in the same run'
	@echo 'make truth       calibrate under known limits (root)'
	@echo 'make doc         the documentation of the crates'
	@echo 'make setup       install what building and testing needs'
	@echo 'make clean-lab   remove the disks that scripts/lab made'

# Exit status 3 is a result too: measured, shown, and not believable. Other failures stay failures.
calibrate:
	@scripts/setup --calibrate
	@$(CARGO) build --quiet --release -p fathom-cli --bin fathom --no-default-features
	@status=0; "$${CARGO_TARGET_DIR:-target}/release/fathom" calibrate $(ARGS) "$(AT)" || status=$$?; \
		[ $$status -eq 3 ] || exit $$status

test:
	@scripts/setup --databases
	@scripts/test

lint:
	@$(CARGO) fmt --all --check
	@$(CARGO) clippy --quiet --workspace --all-targets -- -D warnings
	@$(CARGO) test --quiet -p fathom-tidy

fuzz:
	@scripts/setup
	@scripts/fuzz

bench:
	@scripts/setup
	@scripts/bench

truth:
	@scripts/setup
	@$(CARGO) build --quiet --release -p fathom-cli --bin fathom
	@scripts/lab truth --fathom "$${CARGO_TARGET_DIR:-target}/release/fathom" $(ARGS)

doc:
	@RUSTDOCFLAGS='-D warnings' $(CARGO) doc --workspace --no-deps

setup:
	@scripts/setup --databases

clean-lab:
	@scripts/lab remove --all
