# Everything on a fresh machine: needs Python 3.11+ and make, nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint types bench docs clean

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("foldmark needs Python 3.11 or newer; set PYTHON=python3.11") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[dev]'
	@touch $@

demo: $(VENV)/.ready   ## the main job on a real session
	@$(BIN)/python examples/demo.py

test: $(VENV)/.ready   ## all tests
	@$(BIN)/python -m pytest

lint: $(VENV)/.ready
	@$(BIN)/ruff check src tests bench examples docs

types: $(VENV)/.ready
	@$(BIN)/mypy

$(VENV)/.bench: $(VENV)/.ready
	$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[bench]'
	@touch $@

bench: $(VENV)/.bench  ## measures and peers, as tables (long)
	@$(BIN)/python -m bench

docs: $(VENV)/.ready   ## the generated reference
	@$(BIN)/python docs/generate.py
	@PYTHONPATH=src $(BIN)/python tests/docs/pages.py

clean:
	rm -rf $(VENV) out .pytest_cache .mypy_cache .ruff_cache
