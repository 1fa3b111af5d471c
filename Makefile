# What one does with a clone, one command each. Needs GNU make and Python 3.11 or newer; the rest is
# installed into .venv, each target its own part, and again only after pyproject.toml has changed.

PYTHON ?= python3
# The Qt binding of the tests: pyqt6 or pyside6.
QT ?= pyqt6
# Where the benchmark data lie.
DATA ?= ../shared/data
# More arguments for pytest, as in: make test ARGS="-k bank"
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
# Two installations into one environment at a time would spoil it.
.NOTPARALLEL:
.PHONY: run test test-all lint docs pictures bench lab bench-data clean help

run: $(STAMPS)/run ## open napari with the dock and a noisy sample; without a screen, restore it into out/
	@[ -n "$$DISPLAY$$WAYLAND_DISPLAY" ] || [ "$$(uname)" = Darwin ] || sh scripts/screen.sh || true
	QT_API=$(QT) $(BIN)/python -m napari_scsc.plugin.demo --out out

test: $(STAMPS)/test-$(QT) ## run the quick tests; without a screen, installs the system packages for one where it may
	@$(call pytest,not slow)

test-all: $(STAMPS)/test-$(QT) $(STAMPS)/bench ## run every test, with the peers that some compare with
	@$(call pytest,slow or not slow)

lint: $(STAMPS)/lint ## check style, format, types, workflows and set-up
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/zizmor --offline --quiet .
	$(BIN)/repo-review .

docs: $(STAMPS)/docs ## build the documentation into site/
	$(BIN)/python -m zensical build --clean --strict

pictures: $(STAMPS)/test-$(QT) ## take the pictures of the documentation anew
	QT_API=$(QT) $(BIN)/python scripts/screenshots.py
	$(BIN)/python scripts/tutorial_pictures.py

# One thread in each library: the benchmarks say themselves how many they use, and compare like with like.
bench lab: export OPENBLAS_NUM_THREADS = 1
bench lab: export OMP_NUM_THREADS = 1
bench lab: export MKL_NUM_THREADS = 1
bench lab: export VECLIB_MAXIMUM_THREADS = 1
bench: bench-data $(STAMPS)/bench ## run the benchmarks on the data in DATA
	$(BIN)/python -m benchmarks all --data "$(DATA)"

lab: bench-data $(STAMPS)/bench ## run the paper's experiments, quick version; stopped, it goes on where it was
	$(BIN)/python -m laboratory all --quick --data "$(DATA)"

bench-data: # before anything is installed for nothing
	@test -d "$(DATA)" || { echo "No benchmark data in $(DATA). Say where they are: make ... DATA=/path/to/data" >&2; exit 1; }

clean: ## remove what was built; .venv and the results of benchmarks and laboratory stay
	rm -rf out site dist build .coverage htmlcov .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks laboratory -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# $(1) is a marker expression. Without a screen, what makes one is installed where that takes no password;
# where it does, the tests that need one are left out. Where each process has a virtual screen of its
# own, several share the work: on one screen they would take the keyboard from each other.
define pytest
if sh scripts/screen.sh --install; then set -- -m "$(1)"; \
else export QT_QPA_PLATFORM=offscreen; set -- -m "($(1)) and not screen"; fi; \
if command -v Xvfb > /dev/null; then set -- "$$@" -n logical --maxprocesses 4 --dist loadfile; fi; \
QT_API=$(QT) PYTEST_QT_API=$(QT) $(BIN)/python -m pytest "$$@" $(ARGS)
endef

# ---- set-up -----------------------------------------------------------------------------------
# venv and pip are always there; UV=1 takes uv instead, which is quicker.

ifeq ($(UV),1)
create = uv venv --quiet --seed --allow-existing --python "$$(command -v $(PYTHON))" $(VENV)
install = uv pip install --quiet --python $(BIN)/python
else
# pip knows dependency groups since 25.1, and the one that comes with Python may be older.
create = $(PYTHON) -m venv $(VENV) && $(BIN)/python -m pip install --quiet --disable-pip-version-check "pip>=25.1"
install = $(BIN)/python -m pip install --quiet --disable-pip-version-check
endif

$(STAMPS)/run: what = -e ".[$(QT)]"
$(STAMPS)/test-$(QT): what = -e ".[$(QT)]" --group test --group ome-zarr
$(STAMPS)/lint: what = -e . --group lint
$(STAMPS)/docs: what = -e . --group docs
$(STAMPS)/bench: what = -e . --group bench

$(STAMPS)/%: pyproject.toml | $(STAMPS)/venv
	@echo "Installing what 'make $(*:-$(QT)=)' needs into $(VENV); the first time takes a minute or two."
	@$(install) $(what)
	@touch $@

$(STAMPS)/venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "napari-scsc needs Python 3.11 or newer, and $(PYTHON) is not. Name another: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(create)
	@mkdir -p $(STAMPS) && touch $@
