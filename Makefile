# Everything is done inside .venv, which the stamps below create and keep up to date.
# Another interpreter: make PYTHON=python3.13 test. Another folder: make VENV=/elsewhere/venv test.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

DEMO := $(BIN)/python -m tests.demo
PLAY := $(BIN)/python -m tests.cluster.play
BENCH := $(BIN)/python -m tests.bench
RULES := $(BIN)/python -m tests.rules
# A worker a core; the tests of one version of Kubernetes share a control plane, and so a worker.
PYTEST := $(BIN)/python -m pytest -n auto --dist loadscope

REQUIREMENTS := .ci/requirements
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
COMPILE := env -u PIP_FIND_LINKS -u UV_FIND_LINKS $(BIN)/uv pip compile --no-config --quiet \
	--universal --python-version 3.11 --generate-hashes --no-annotate --no-header

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test check setup lint play bench rules manifests lock clean

help: ## show this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1	\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 18

demo: $(VENV)/.runtime ## start the service, send it Pods, show what became of each
	@$(DEMO)

test: lint ## every check there is, real control planes included
	$(BIN)/python -m tests.cluster.binaries
	$(PYTEST)

check: lint ## the same without the tests that need a control plane
	$(PYTEST) -m "not cluster"

lint: $(VENV)/.dev ## formatting, lint, types and import contracts alone
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

setup: $(VENV)/.dev ## make .venv ready for work on the project

play: $(VENV)/.dev ## a real control plane with GPU nodes and the webhook
	@$(PLAY)

bench: $(VENV)/.dev ## the speed figures, as ratios within one run
	@$(BENCH)

rules: $(VENV)/.dev ## each rule of the semantics and the tests that show it
	@$(RULES)

# The CustomResourceDefinition is made from the model.
manifests: manifests/base/crd.yaml ## bring the generated file of manifests/ up to date

manifests/base/crd.yaml: $(addprefix selection_spec/,crd.py schema.py status.py) | $(VENV)/.runtime
	$(BIN)/python -m tests.contract.crd > $@

# Existing pins stay where they still satisfy pyproject.toml; LOCK_FLAGS=--upgrade takes the newest.
# What builds the project is pinned too: editables is what hatchling asks for in an editable install.
lock: $(VENV)/.dev ## write the pinned requirements anew from pyproject.toml
	$(COMPILE) $(LOCK_FLAGS) --output-file $(REQUIREMENTS)/runtime.txt pyproject.toml
	$(COMPILE) $(LOCK_FLAGS) --extra dev --constraint $(REQUIREMENTS)/runtime.txt \
		--output-file $(REQUIREMENTS)/dev.txt pyproject.toml
	$(BIN)/python -c 'import tomllib; \
		project = tomllib.load(open("pyproject.toml", "rb")); \
		print(*project["build-system"]["requires"], "editables", sep="\n")' \
		| $(COMPILE) $(LOCK_FLAGS) --constraint $(REQUIREMENTS)/dev.txt \
			--output-file $(REQUIREMENTS)/build.txt -

clean: ## remove .venv and whatever else was made here
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Set-up. A stamp is as new as the files that it was made from; pip finds what is there already.

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "gpuspec needs Python 3.11 or newer, and '$(PYTHON)' is none:" \
			"name one, for example: make PYTHON=python3.12 $(or $(MAKECMDGOALS),demo)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "'$(PYTHON)' cannot make a virtual environment:" \
			"install its venv module (on Debian and Ubuntu: apt install python3-venv)" >&2; exit 1; }
	@echo "Making $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: $(REQUIREMENTS)/build.txt $(REQUIREMENTS)/runtime.txt pyproject.toml | $(BIN)/python
	@echo "Installing what gpuspec needs (once; about half a minute) ..."
	@$(PIP_INSTALL) --require-hashes -r $(REQUIREMENTS)/build.txt -r $(REQUIREMENTS)/runtime.txt
	@$(PIP_INSTALL) --no-build-isolation --no-deps --editable .
	@touch $@

$(VENV)/.dev: $(REQUIREMENTS)/dev.txt $(VENV)/.runtime
	@echo "Installing what its tests need (once; about a minute) ..."
	@$(PIP_INSTALL) --require-hashes -r $(REQUIREMENTS)/dev.txt
	@touch $@
