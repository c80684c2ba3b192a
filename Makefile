# Every target makes the environment it needs; PYTHON names the interpreter to make it with.
PYTHON ?= python3
BIN := .venv/bin
STAMPS := .venv/stamps
SETTINGS := pyproject.toml src/gbmap/__init__.py

# Experiments of the benchmarks that need no environment beside gbmap's, and those that run a peer in its own.
ALONE := sets small passes memory sparse dask explaining distances neighbours drift monitor predictors starts pictures
WITH_IVIS := features costs maps

.PHONY: demo test test-nightly test-oldest test-newest test-torch lint package docs mutants bench bench-scaling bench-device bench-report clean $(ALONE:%=bench-%) $(WITH_IVIS:%=bench-%)

demo: $(STAMPS)/demo
	$(BIN)/python -m gbmap.demo

# Whatever the shell says: or each process of the tests compiles the package and the tests anew.
unexport PYTHONDONTWRITEBYTECODE

# Files stay whole, so that the tests of one share what they have fitted.
PYTEST_OPTIONS := --numprocesses 2 --dist loadfile

test: lint $(STAMPS)/browser
	$(BIN)/pytest $(PYTEST_OPTIONS)

# What takes long and rarely fails.
test-nightly: $(STAMPS)/test $(STAMPS)/browser
	$(BIN)/pytest $(PYTEST_OPTIONS) -m nightly $(ARGS)

# The oldest versions that pyproject.toml allows, and the newest there are: of scikit-learn beyond its bound too.
test-oldest: VERSIONS := --resolution lowest-direct
test-newest: VERSIONS := --override build/unbounded.txt
test-oldest test-newest: test-%:
	mkdir -p build
	echo scikit-learn > build/unbounded.txt
	$(PYTHON) -m venv .venv-$*
	.venv-$*/bin/pip install --quiet --upgrade uv
	.venv-$*/bin/uv pip install --quiet --python .venv-$*/bin/python --upgrade $(VERSIONS) --editable ".[test]"
	.venv-$*/bin/pytest $(PYTEST_OPTIONS) $(ARGS)

lint: $(STAMPS)/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/zizmor --quiet --offline --strict-collection .github

# The distributions, in dist/, as a release publishes them.
package: $(STAMPS)/package
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*

# Whether the tests notice small changes to the package: 25 minutes on two cores.
mutants: $(STAMPS)/test
	$(BIN)/python -m tools.mutants $(ARGS)

# Arrays of PyTorch, on a CUDA device too where there is one; apart from the rest, since PyTorch brings gigabytes.
test-torch: $(STAMPS)/torch
	.venv-torch/bin/pytest tests/test_other_arrays.py

docs: $(STAMPS)/docs
	$(BIN)/sphinx-build -W --keep-going docs build/docs

bench-scaling: $(STAMPS)/bench $(STAMPS)/bench-jax
	$(BIN)/python -m benchmarks.run scaling $(ARGS)

# A quick form of all of them, and its pages, apart from the rows and pages that are committed.
bench: $(STAMPS)/bench $(STAMPS)/bench-jax $(STAMPS)/bench-ivis
	$(BIN)/python -m benchmarks.run all --quick --results build/bench/results $(ARGS)
	$(BIN)/python -m benchmarks.report --results build/bench/results --output build/bench/pages

$(ALONE:%=bench-%) bench-device: bench-%: $(STAMPS)/bench
	$(BIN)/python -m benchmarks.run $* $(ARGS)

$(WITH_IVIS:%=bench-%): bench-%: $(STAMPS)/bench $(STAMPS)/bench-ivis
	$(BIN)/python -m benchmarks.run $* $(ARGS)

bench-report: $(STAMPS)/bench
	$(BIN)/python -m benchmarks.report

$(STAMPS)/python:
	$(PYTHON) -m venv .venv
	mkdir -p $(STAMPS)
	touch $@

$(STAMPS)/demo: $(SETTINGS) | $(STAMPS)/python
	$(BIN)/pip install --quiet --editable ".[cli]"
	touch $@

$(STAMPS)/test: $(SETTINGS) | $(STAMPS)/python
	$(BIN)/pip install --quiet --editable ".[test]"
	touch $@

$(STAMPS)/package: | $(STAMPS)/python
	$(BIN)/pip install --quiet "build>=1.2" "twine>=6.1"
	touch $@

# TORCH names the build of PyTorch to install: any will do, one for CUDA too.
TORCH ?= torch==2.13.0
$(STAMPS)/torch: $(SETTINGS) | $(STAMPS)/python
	$(PYTHON) -m venv .venv-torch
	.venv-torch/bin/pip install --quiet --editable ".[device]" "$(TORCH)" array-api-strict pytest
	touch $@

$(STAMPS)/docs: $(SETTINGS) | $(STAMPS)/python
	$(BIN)/pip install --quiet --editable ".[docs]"
	touch $@

# The report is tested in a real browser. Without one, and without the right to install it, those tests are skipped.
$(STAMPS)/browser: | $(STAMPS)/python
	command -v chromium >/dev/null || (apt-get update -qq && apt-get install -y -qq chromium) || \
		echo "No chromium, and none could be installed: the tests of the report in a browser are skipped."
	touch $@

$(STAMPS)/bench: $(SETTINGS) benchmarks/requirements.txt | $(STAMPS)/python
	$(BIN)/pip install --quiet --editable ".[dask,data]" -r benchmarks/requirements.txt
	$(BIN)/pip install --quiet --no-deps ISLP
	touch $@

# The peers of the paper's recipe need an environment of their own.
$(STAMPS)/bench-jax: benchmarks/methods/requirements-jax.txt | $(STAMPS)/python
	$(PYTHON) -m venv .venv-bench-jax
	.venv-bench-jax/bin/pip install --quiet -r benchmarks/methods/requirements-jax.txt
	touch $@

$(STAMPS)/bench-ivis: benchmarks/methods/requirements-ivis.txt | $(STAMPS)/python
	$(PYTHON) -m venv .venv-bench-ivis
	.venv-bench-ivis/bin/pip install --quiet -r benchmarks/methods/requirements-ivis.txt
	touch $@

clean:
	rm -rf .venv .venv-oldest .venv-newest .venv-bench-jax .venv-bench-ivis .venv-torch build dist docs/generated .mypy_cache .pytest_cache .ruff_cache .hypothesis
