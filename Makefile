# SPDX-License-Identifier: Apache-2.0
# Every target sets up what it needs: a virtual environment in .venv and the collection on Ansible's path.
PYTHON ?= python3
VENV_PYTHON := .venv/bin/python
export ANSIBLE_COLLECTIONS_PATH := $(CURDIR)/.collections

.PHONY: help demo test lint bench lab clean

help:
	@echo "make demo   see the main job on a real Kubernetes API (first time: builds it, about 5 minutes)"
	@echo "make test   unit, conformance and integration tests"
	@echo "make lint   ruff, mypy, ansible-lint, yamllint, antsibull-docs"
	@echo "make bench  what a run costs, as ratios"
	@echo "make lab    start the embedded platform and say how to use it"
	@echo "make clean  stop the lab and remove what these targets made"

demo:
	@$(PYTHON) tools/setup.py lab
	@$(VENV_PYTHON) demo/run.py

test:
	@$(PYTHON) tools/setup.py lab test
	@$(VENV_PYTHON) -m lab build
	@$(VENV_PYTHON) -m pytest -q -n 2 --dist loadfile $(PYTEST_ARGS)

lint:
	@$(PYTHON) tools/setup.py lab test lint
	@$(VENV_PYTHON) tools/lint.py

bench:
	@$(PYTHON) tools/setup.py lab test
	@$(VENV_PYTHON) bench/guards.py
	@$(VENV_PYTHON) bench/pools.py $(BENCH_ARGS)

lab:
	@$(PYTHON) tools/setup.py lab
	@$(VENV_PYTHON) -m lab build
	@$(VENV_PYTHON) -m lab up
	@$(VENV_PYTHON) -m lab env

clean:
	@if [ -x $(VENV_PYTHON) ] && [ -d .lab ]; then $(VENV_PYTHON) -m lab down; fi
	rm -rf .venv .collections .lab .hypothesis .mypy_cache .ruff_cache .pytest_cache tests/output
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
