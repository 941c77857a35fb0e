# On a fresh machine with Python (3.11 or newer) and make, each target sets up what it needs.
#   make audit       environment, install, and an audit of built-in mechanisms
#   make test        environment, everything the tests need, the whole test-suite
#   make test-slow   the tests marked slow
#   make test-lowest the tests of reading, running and the command line with the lowest versions
#   make lint        ruff and mypy
#   make docs        the documentation as a site, in site/ (its links are checked)
#   make formal      the formalisation in Coq and the verified checker (installs Coq where it may)
#   make validation  every script in validation/ (figures against oracles; long)
#   make benchmarks  every script in benchmarks/ (ratios; long)

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
# The torch device is tested on the CPU; a pinned version lets a local wheel serve.
TORCH ?= torch==2.13.0
WORKERS ?= 2

.PHONY: audit test test-slow test-lowest lint docs validation benchmarks browser clean formal

# Some of these are wrong on purpose: exit status 1 says so, and is no failure here.
audit: $(VENV)/.installed
	@$(BIN)/dpest audit LaplaceMechanism ReportNoisyMax1 SVT1 SVT4 SVT5 PrefixSum RandomizedResponse \
	  || [ $$? -eq 1 ]

test: $(VENV)/.tests-installed browser
	$(BIN)/python -m pytest -n $(WORKERS) -m "not slow" -q

test-slow: $(VENV)/.tests-installed browser
	$(BIN)/python -m pytest -n $(WORKERS) -m slow -q

test-lowest:
	$(PYTHON) -m venv $(VENV)-lowest
	$(VENV)-lowest/bin/python -m pip --disable-pip-version-check install --quiet \
	  $$($(PYTHON) tests/lowest_versions.py)
	$(VENV)-lowest/bin/python -m pip --disable-pip-version-check install --quiet --no-deps --editable .
	$(VENV)-lowest/bin/python -m pytest -n $(WORKERS) -m "not slow" -q \
	  tests/ask tests/audit tests/cli tests/execution tests/hostile tests/noise tests/notions \
	  tests/reading tests/stats

lint: $(VENV)/.tests-installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --strict src/dpest/kernel

docs: $(VENV)/.docs-installed
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# Coq from the distribution, where we may install; elsewhere it says what is missing.
formal:
	@command -v coqc >/dev/null && test -d "$$(coqc -where)/user-contrib/Coquelicot" || \
	  { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq >/dev/null && \
	    apt-get install -y -qq coq libcoq-coquelicot >/dev/null; } || \
	  { echo "Coq is missing: install coq and libcoq-coquelicot (or opam's coq, coq-coquelicot)"; exit 1; }
	$(MAKE) -C formal

validation: $(VENV)/.tests-installed
	@for script in validation/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

benchmarks: $(VENV)/.tests-installed
	@for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(PIP) --editable .
	@touch $@

$(VENV)/.tests-installed: pyproject.toml | $(VENV)/bin/python
	$(PIP) "$(TORCH)"
	$(PIP) --editable ".[prove,ml,fast,ptx,report,dask,accounting,targets,zoo,docs,notebook,test,lint]"
	@touch $@ $(VENV)/.installed

$(VENV)/.docs-installed: pyproject.toml | $(VENV)/bin/python
	$(PIP) --editable ".[docs,ml]"
	@touch $@ $(VENV)/.installed

# The report's page is tested in a real browser. Where none can be had, those tests say so.
browser:
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || \
	  { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
	    apt-get update -qq >/dev/null && apt-get install -y -qq chromium >/dev/null; } || \
	  echo "no Chromium found: the browser tests will be skipped"

clean:
	rm -rf $(VENV) build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
