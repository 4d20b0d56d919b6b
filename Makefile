# Every command of the project. Bare `make` prints them; continuous integration runs the same ones.

TARGET     := aarch64-unknown-none
CARGO      ?= cargo
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
KERNEL_ELF := $(TARGET_DIR)/$(TARGET)/kernel/kernel
KERNEL_IMG := target/kernel8.img
RUN_ARGS   ?=
SECONDS    ?= 60

export GENETBENCH_COMMIT := $(shell git describe --always --dirty --abbrev=9 2>/dev/null || echo unknown)

.PHONY: help setup kernel vpi run test fuzz soak verdicts trust compare bench check fmt clean

help: ## print this list
	@echo "genetbench: why does this Raspberry Pi 4 receive slowly?"; echo
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1	\2/p' $(MAKEFILE_LIST) | expand -t 16
	@echo; echo "  RUN_ARGS='--seed 7 --uart FILE' go to the virtual Pi; all its options: make run RUN_ARGS=--help"

setup: ## install what the build needs (idempotent; the others call it)
	@tools/setup

kernel: setup ## build the firmware: target/kernel8.img
	@$(CARGO) build --locked --profile kernel --target $(TARGET) -p kernel
	@mkdir -p target
	@$(CARGO) run --locked --quiet --release -p genetbench -- flatten $(KERNEL_ELF) $(KERNEL_IMG)

vpi: setup ## build the virtual Pi (the first time takes two minutes)
	@$(CARGO) build --locked --release -p vpi4

run: kernel vpi ## boot the firmware on the virtual Pi, sweep the presets, print the table
	@$(TARGET_DIR)/release/vpi4 $(KERNEL_IMG) $(RUN_ARGS)

test: kernel vpi ## run every test
	@$(CARGO) test --locked --release --workspace

fuzz: setup ## look for inputs that break the parsers, the driver and the stack: SECONDS=60
	@$(CARGO) run --locked --quiet --release -p fuzz -- $(SECONDS)

soak: setup ## receive FRAMES=100000000 under faults on the models, each accounted for (four minutes)
	@$(CARGO) run --locked --quiet --release -p soak -- $(if $(FRAMES),--frames $(FRAMES))

verdicts: kernel vpi ## is the verdict right? worlds whose truth is known: matrix and target/verdicts.json (20 minutes)
	@$(CARGO) run --locked --quiet --release -p verdicts -- $(VERDICTS_ARGS)

trust: kernel vpi ## ask U-Boot, Linux and QEMU about the models and the firmware (fetches 100 MB once)
	@tools/trust/run

compare: kernel vpi ## U-Boot, Linux and ours receive the same data: target/compare.md
	@tools/trust/fetch
	@$(TARGET_DIR)/release/vpi4-compare target/trust $(KERNEL_IMG) target/compare.md

bench: kernel vpi ## measure the receive path: screen and target/bench.json
	@$(CARGO) run --locked --quiet --release -p vpi4 --bin vpi4-bench -- $(KERNEL_IMG) $(KERNEL_ELF) target/bench.json

check: setup ## formatting, lints and documentation, warnings denied
	@$(CARGO) fmt --all --check
	@$(CARGO) clippy --locked --release --workspace --all-targets -- -D warnings
	@$(CARGO) clippy --locked --profile kernel --target $(TARGET) -p kernel -- -D warnings
	@RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --release --no-deps --workspace --quiet

fmt: ## format all sources
	@$(CARGO) fmt --all

clean: ## remove everything that was built
	@$(CARGO) clean
