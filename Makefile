# Every target sets up what it needs, once. `make help` lists them.
#
#   PYTHON=/path/to/python   what to build .venv with: a Python 3.10 to 3.13
#   WORKERS=4                make test: processes to run the tests in (default 2)
#   UPGRADE=1                make lock: move every pin to the newest version allowed
#   FULL=1                   make wheel-test: install every dependency instead of borrowing .venv's

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test check check-format check-lint check-types format bench experiments \
    fidelity soak kill fuzz mutants licences peer-tests matrix wheel-test lock clean distclean

VENV := .venv
BIN := $(VENV)/bin
SETUP := $(VENV)/.setup-done
BENCH := $(VENV)/.bench-done
WORKERS := 2
UV := .cache/uv-0.13.7

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(SETUP)  ## .venv with the locked dependencies and celif itself, editable

demo: $(SETUP)  ## the whole path: train, export, run in Lava, compare
	$(BIN)/celif demo

# The tests of a file stay in one process, because they share fixtures.
test: check  ## the checks, then every test
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder

check: check-format check-lint check-types  ## formatting, lint and types, as pre-commit runs them

check-format: $(SETUP)
	$(BIN)/ruff format --check .

check-lint: $(SETUP)
	$(BIN)/ruff check .

check-types: $(SETUP)
	$(BIN)/mypy

format: $(SETUP)  ## put formatting and import order right
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

bench: $(BENCH)  ## speed beside lava-dl, snnTorch, SpikingJelly, an LSTM and plain autograd
	$(BIN)/python -m benchmarks

experiments: $(SETUP)  ## sequential digits over five seeds: float, 8-bit and 4-bit accuracy
	$(BIN)/python -m benchmarks.studies.digits

fidelity: $(SETUP)  ## digits, five-fold: accuracy by bits of weights, of TE, of V and Θ; docs/fidelity.md
	$(BIN)/python -m benchmarks.studies.fidelity

soak: $(SETUP)  ## random networks, a billion neuron steps: twin, step, oracle, training, Lava
	$(BIN)/python -m benchmarks.soak.soak

kill: $(SETUP)  ## kill writers at random moments, fill their disks: the former file stays whole
	$(BIN)/python -m benchmarks.soak.kill

fuzz: $(SETUP)  ## damaged and hostile files: a named error or the original's results
	$(BIN)/python -m benchmarks.soak.fuzz

mutants: $(SETUP)  ## small mistakes in the sources: tests must notice nine of ten
	$(BIN)/python -m benchmarks.mutation

peer-tests: $(SETUP)  ## Lava's own tests, run in one process and on our Network
	$(BIN)/python -m benchmarks.peers.peer_tests

licences: $(SETUP)  ## what is installed, and under which licence
	@$(BIN)/python .ci/licences.py

matrix:  ## the same exports and traces on every Python there is; docs/pythons.md
	.ci/matrix docs/pythons.md

wheel-test: $(SETUP)  ## build the wheel and try it outside the repository
	FULL=$(FULL) .ci/wheel-test

lock: $(UV)  ## write the lock files from pyproject.toml
	PATH="$(CURDIR)/$(UV)/bin:$$PATH" .ci/lock $(if $(UPGRADE),--upgrade)

clean:  ## remove caches and build products; .venv and runs/ stay
	rm -rf build dist *.egg-info demo .cache .hypothesis .pytest_cache .mypy_cache .ruff_cache
	find . -name $(VENV) -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean  ## remove .venv and runs/ as well
	rm -rf $(VENV) runs

# A .venv that an interrupted install left behind says so itself, and is built again.
venv_is_sound = $(shell test ! -e $(VENV)/.unfinished && $(BIN)/python -c \
    "import sys, pip; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))" >/dev/null 2>&1 && echo yes)

$(SETUP): requirements.lock pyproject.toml
	$(if $(venv_is_sound),,.ci/new-venv $(VENV) $(PYTHON))
	@touch $(VENV)/.unfinished
	@echo "Installing the locked dependencies: the first time it takes minutes and 2 to 6 GB of disk."
	$(BIN)/python .ci/install_lock.py requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@rm $(VENV)/.unfinished
	@touch $@

$(BENCH): requirements-bench.lock $(SETUP)
	$(BIN)/python .ci/install_lock.py requirements-bench.lock
	@touch $@

$(UV):
	.ci/new-venv $@ $(PYTHON)
	$@/bin/python -m pip install --quiet uv==$(patsubst .cache/uv-%,%,$@)
	@touch $@
