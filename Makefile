# make run    the dashboard on sample_data/ (makes the environment first)
# make test   everything that is checked: format, lint, types, tests, generated docs
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DIAGNOSE := $(BIN)/diagnose

.DEFAULT_GOAL := help
.PHONY: help run test check lint types unit docs docs-check samples bench fuzz soak screenshots requirements clean python

help: ## Show what there is
	@grep -E '^[a-z-]+:.*## ' Makefile | awk -F':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

python: # What a minimal Debian lacks is said in one line, before anything is installed
	@command -v $(PYTHON) >/dev/null || { echo "make: python3 is missing; on Debian: apt-get install -y python3-venv make"; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "make: Python 3.11 or newer is needed; give it with PYTHON=..."; exit 2; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "make: Python's venv is missing; on Debian: apt-get install -y python3-venv make"; exit 2; }

$(BIN)/diagnose: requirements.txt pyproject.toml | python
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

$(BIN)/pytest: $(BIN)/diagnose .ci/requirements-dev.txt .ci/requirements-dev-no-deps.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -r .ci/requirements-dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps -r .ci/requirements-dev-no-deps.txt
	@touch $@

run: $(BIN)/diagnose ## Open the dashboard on sample_data/ (INPUT=... for your own)
	$(BIN)/python -m app $(INPUT)

samples: $(BIN)/diagnose ## Diagnose every sample in the terminal
	@for folder in sample_data/*/; do echo; echo "== $$folder"; $(DIAGNOSE) $$folder | head -12; done

test: $(BIN)/pytest system-packages ## Set up, then run every check
	$(MAKE) --no-print-directory check

check: lint types unit docs-check ## What CI runs

.PHONY: system-packages
system-packages: # Real Prometheus, Alertmanager and Chromium for the tests; installed where we may, named where not
	@sh .ci/system-packages

lint: $(BIN)/pytest ## Format and lint
	$(BIN)/ruff format --check diagnostics app tests docs
	$(BIN)/ruff check diagnostics app tests docs

types: $(BIN)/pytest ## Type checks
	$(BIN)/mypy

unit: $(BIN)/pytest ## Tests
	$(BIN)/pytest

docs: $(BIN)/diagnose ## Write the generated pages
	$(BIN)/python docs/generate.py --write

docs-check: $(BIN)/diagnose ## Check that the generated pages are current
	$(BIN)/python docs/generate.py --check

bench: $(BIN)/pytest ## Speeds, side by side in one run, as ratios
	$(BIN)/python tests/bench/bench.py
	$(BIN)/python tests/bench/pages.py

fuzz: $(BIN)/pytest ## Mutated inputs of every kind for ten minutes
	$(BIN)/python tests/fuzz/long.py --seconds 600

soak: $(BIN)/pytest ## Hours in minutes: windows of calm recordings, a watched replay, ten sessions at once
	$(BIN)/python tests/soak/soak_silence.py --windows 1000
	$(BIN)/python tests/soak/soak_watch.py --minutes 60
	$(BIN)/python tests/soak/soak_app.py

screenshots: $(BIN)/pytest ## Pictures of every page for the README (needs Chromium)
	$(BIN)/python docs/screenshots.py

requirements: ## Pin the newest versions that the ranges allow
	rm -rf $(VENV)-pins && $(PYTHON) -m venv $(VENV)-pins && $(VENV)-pins/bin/pip install --quiet .
	{ head -1 requirements.txt; $(VENV)-pins/bin/pip freeze --exclude llm-serving-diagnostics; } > requirements.new
	mv requirements.new requirements.txt && rm -rf $(VENV)-pins

clean: ## Remove the environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
