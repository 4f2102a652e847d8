# Two commands do everything on a fresh machine with Python 3.11 or newer:
#   make bench   environment, install, weights of the embedded model, the quick bench, its report
#   make test    environment, all tests
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
ARGS ?=

.PHONY: bench test lint types check clean

bench: $(VENV)/.installed
	@$(BIN)/contextrot models pull smollm2-135m
	$(BIN)/contextrot bench $(ARGS)

# Files go to as many processes as there are cores; `make test ARGS="-n 0 -x"` runs them in one.
test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n auto --dist loadfile $(ARGS)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-dev
	$(BIN)/mypy

check: lint types test

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "contextrot needs Python 3.11 or newer; choose one with: make PYTHON=python3.12 …"; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	@echo "installing contextrot into $(VENV) (a minute or two, once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	@echo "installing the tools for tests"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info
