# Everything on a fresh machine: needs Python 3.11+ and make, nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL = $(BIN)/python -m pip install -q --disable-pip-version-check

.PHONY: demo test lint types bench docs clean

$(VENV)/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("foldmark needs Python 3.11 or newer; set PYTHON=python3.11") if sys.version_info < (3, 11) else None'
	@echo 'Installing foldmark into $(VENV), once; this takes some seconds up to a minute.'
	@$(PYTHON) -m venv $(VENV)
	@$(INSTALL) -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.ready
	@echo 'Installing what tests and checks need into $(VENV), once; this takes a minute or two.'
	@$(INSTALL) -e '.[dev]'
	@touch $@

demo: $(VENV)/.ready   ## the main job on a real session
	@$(BIN)/python examples/demo.py

test: $(VENV)/.dev     ## all tests
	@$(BIN)/python -m pytest

lint: $(VENV)/.dev
	@$(BIN)/ruff check src tests bench examples docs

types: $(VENV)/.dev
	@$(BIN)/mypy

$(VENV)/.bench: $(VENV)/.dev
	@echo 'Installing what the benchmark compares with into $(VENV), once; this takes some minutes.'
	@$(INSTALL) -e '.[bench]'
	@touch $@

bench: $(VENV)/.bench  ## measures and peers, as tables (long)
	@$(BIN)/python -m bench

docs: $(VENV)/.dev     ## the generated reference
	@$(BIN)/python docs/generate.py
	@PYTHONPATH=src $(BIN)/python tests/docs/pages.py

clean:
	rm -rf $(VENV) out .pytest_cache .mypy_cache .ruff_cache
