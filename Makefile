# Everything sets itself up: a .venv in this folder, with the package installed into it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help demo test test-fast lint bench pictures docs clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/^([a-z-]+):.*## */\1\t/' | expand -t 12

demo: $(VENV)/.installed  ## train a small translator, and look at its attention
	OPENBLAS_NUM_THREADS=1 $(BIN)/python examples/transformer_translate.py --out out/demo

test: $(VENV)/.test  ## all tests, on NumPy alone
	$(BIN)/python -m pytest -n auto --dist worksteal

# With the kernels on: the quick tests, but for what has only arrays too small for kernels, or none;
# and of the slow ones those that are about kernels, among them 20,000 random cases.
KERNELS := tests/fuzz tests/kernels tests/faults tests/optim tests/test_fork.py
test-fast: $(VENV)/.fast  ## the tests that concern kernels, with Numba
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not slow" --ignore=tests/ops \
	  --ignore=tests/graph --ignore=tests/browser --ignore=tests/docs --ignore=tests/test_views.py \
	  --ignore=tests/torch_samples --ignore=tests/distributions --ignore=tests/special
	$(BIN)/python -m pytest -n auto --dist worksteal -m slow $(KERNELS)

lint: $(VENV)/.dev  ## ruff, mypy, and the layers of docs/architecture.md
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python docs/architecture.py --check

# Each has limits of its own; what follows one that misses them runs all the same.
bench: $(VENV)/.bench  ## training steps and overhead beside PyTorch and others
	status=0; for part in overhead run learners_run growth huge_graph tracing start; do \
	  $(BIN)/python benchmarks/$$part.py || { echo "$$part: above its limits"; status=1; }; \
	done; exit $$status

pictures: $(VENV)/.installed  ## the pictures of the docs, and the list of a step's functions, made again
	$(BIN)/python docs/pictures.py
	$(BIN)/python docs/step_hops.py

docs: $(VENV)/.docs  ## the site, in out/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	@echo "the site is in out/site: open out/site/index.html"

clean:  ## remove the environment and everything that was built
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis out

# Each stamp stands for one set of extras; it is made anew when the metadata change.
$(VENV)/.installed: setup.cfg pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	$(BIN)/python -m compileall -q tinytensor nn  # an editable install leaves this to the first import
	touch $@

$(VENV)/.test: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	touch $@

# With Numba, whose kernels run by themselves once it is there.
$(VENV)/.fast: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[fast]'
	touch $@

$(VENV)/.bench: $(VENV)/.fast
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	touch $@

$(VENV)/.dev: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@

$(VENV)/.docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	touch $@
