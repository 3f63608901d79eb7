# Every target sets up what it needs, once. `make help` lists them.
#
#   PYTHON=/path/to/python3.10   what to build .venv with, where it is not found by itself
#   UPGRADE=1                    make lock: move every pin to the newest version allowed
#   FULL=1                       make wheel-test: install every dependency afresh

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test check check-format check-lint check-types format bench experiments \
    fidelity soak peer-tests wheel-test lock clean distclean

VENV := .venv
BIN := $(VENV)/bin
SETUP := $(VENV)/.setup-done
BENCH := $(VENV)/.bench-done
UV := .cache/uv-0.13.7

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(SETUP)  ## .venv with the locked dependencies and celif itself, editable

demo: $(SETUP)  ## the whole path: train, export, run in Lava, compare
	$(BIN)/celif demo

test: check  ## the checks, then every test
	$(BIN)/python -m pytest

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

peer-tests: $(SETUP)  ## lava-dl's own netx tests, run on our Network
	$(BIN)/python -m benchmarks.peers.peer_tests

wheel-test: $(SETUP)  ## build the wheel and try it outside the repository
	FULL=$(FULL) .ci/wheel-test

lock: $(UV)  ## write the lock files from pyproject.toml
	PATH="$(CURDIR)/$(UV)/bin:$$PATH" .ci/lock $(if $(UPGRADE),--upgrade)

clean:  ## remove caches and build products; .venv and runs/ stay
	rm -rf build dist *.egg-info demo .cache .hypothesis .pytest_cache .mypy_cache .ruff_cache
	find . -name $(VENV) -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean  ## remove .venv and runs/ as well
	rm -rf $(VENV) runs

# The first candidate that is a Python 3.10 able to make a venv. Each is tried, not looked up: a pyenv
# shim can be on PATH and fail.
python310 = $(shell for python in $(or $(PYTHON),python3.10 python3 python \
        "$$(uv python find 3.10 2>/dev/null)" "$$HOME"/.pyenv/versions/3.10.*/bin/python3.10); do \
    "$$python" -c "import sys, venv, ensurepip; sys.exit(sys.version_info[:2] != (3, 10))" >/dev/null 2>&1 \
        && echo "$$python" && break; done)
no_python310 = $(if $(PYTHON),PYTHON=$(PYTHON) is no Python 3.10 with venv,celif needs Python 3.10 with venv \
    (Lava runs on no other)); get it by "uv python install 3.10", "pyenv install 3.10" or, on Ubuntu 22.04, \
    "apt install python3.10-venv", then: make PYTHON=/path/to/python3.10

# A .venv that an interrupted install left behind says so itself, and is built anew.
venv_is_sound = $(shell test ! -e $(VENV)/.unfinished && $(BIN)/python -c \
    "import sys, pip; sys.exit(sys.version_info[:2] != (3, 10))" >/dev/null 2>&1 && echo yes)
new_venv = rm -rf $(VENV) && mkdir $(VENV) && touch $(VENV)/.unfinished && $(1) -m venv $(VENV)

$(SETUP): requirements.lock pyproject.toml
	$(if $(venv_is_sound),,$(call new_venv,$(or $(python310),$(error $(no_python310)))))
	@touch $(VENV)/.unfinished
	@echo "Installing the locked dependencies: the first time it takes minutes and 6 GB of disk."
	$(BIN)/python -m pip install --quiet --no-deps --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@rm $(VENV)/.unfinished
	@touch $@

$(BENCH): requirements-bench.lock $(SETUP)
	$(BIN)/python -m pip install --quiet --no-deps --requirement requirements-bench.lock
	@touch $@

$(UV):
	$(or $(python310),$(error $(no_python310))) -m venv --clear $@
	$@/bin/python -m pip install --quiet uv==$(patsubst .cache/uv-%,%,$@)
	@touch $@
