# Two commands do everything on a fresh machine with Python 3.11 or newer:
#   make bench   environment, install, weights of the embedded model, the quick bench, its report
#   make test    environment, all tests
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
ARGS ?=

.PHONY: bench test browser lint types docs docs-serve gallery check clean vendor

bench: $(VENV)/.installed
	@$(BIN)/contextrot models pull smollm2-135m
	$(BIN)/contextrot bench $(ARGS)

# Files go to as many processes as there are cores; `make test ARGS="-n 0 -x"` runs them in one.
test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder $(ARGS)

# The HTML report is tested in a real Chromium. Where there is none, this installs Debian's (as root).
browser:
	@for name in $${CONTEXTROT_CHROMIUM:-chromium} chromium-browser google-chrome; do command -v "$$name" >/dev/null && exit 0; done; \
	if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then \
	  echo "no Chromium here, and only root can install it with apt-get: install one, or name it with CONTEXTROT_CHROMIUM"; exit 1; \
	fi; \
	echo "installing Chromium (once)"; \
	export DEBIAN_FRONTEND=noninteractive; \
	apt-get -qq -o Acquire::Retries=3 update && \
	apt-get -qq -o Acquire::Retries=3 install --yes --no-install-recommends chromium fonts-dejavu-core >/dev/null

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-dev
	$(BIN)/mypy

# The documentation site, into build/docs; a broken link or anchor is an error. It works from disk: open build/docs/index.html.
docs: $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@$(BIN)/python docs/check_site.py build/docs
	@echo "the site is in build/docs: open build/docs/index.html"

docs-serve: $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs serve

# The pictures of the README and docs/gallery.md, from two benches of the embedded model (about 15 minutes on two cores, once).
gallery: $(VENV)/.installed-dev
	@$(BIN)/contextrot models pull smollm2-135m
	$(BIN)/python docs/make_gallery.py $(ARGS)

# The libraries inside the HTML report, fetched anew from npm (needs `npm`) and checked against the recorded sha256.
vendor: $(VENV)/.installed
	$(BIN)/python -m contextrot.report.html.vendored

check: lint types docs test

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

$(VENV)/.installed-docs: $(VENV)/.installed
	@echo "installing the tools for the documentation"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info
