# Every target sets up what it needs; the first run takes a few minutes, later ones start at once.
.DEFAULT_GOAL := help
.PHONY: screenshots help demo test test-fast test-spark coverage wheel-check fmt lint types check kill versions clean
.PHONY: bench bench-quick bench-verify bench-parts bench-latency bench-growth bench-page nexmark
.DELETE_ON_ERROR:

export PYTHON
# Containers often forbid bytecode on disk; then every Python process would compile the package again.
export PYTHONDONTWRITEBYTECODE :=

BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest
# Folders whose tests all need Spark or a server. To find tests takes seconds, so neither half of them looks at all.
ENGINES := tests/spark tests/kafka tests/jdbc
# Layers, sizes and documents are checked by `make check`.
FAST := -m "not slow and not soak" $(addprefix --ignore ,tests/tidy $(ENGINES)) -n logical
# A session of Spark for each of two processes; a file's tests share what they set up. The order is that of tests/conftest.py.
# Of tests marked `drawn` the seed of the run draws a part, see tests/drawing.py; `make kill` runs all of them.
REST = -m "slow and not soak" -n 2 --dist loadfile --no-loadscope-reorder --draw $(CHOSEN)
# Of files that take long, those whose subject has changed since BASE, see tests/chosen.py, unless ALL=1.
CHOSEN := $(if $(ALL),,--chosen $(if $(BASE),--base $(BASE)))
MARKED = $(filter-out $(addsuffix /%,$(ENGINES)),$(shell grep -rl "mark\.slow" tests examples --include "test_*.py"))
SOURCES := src tests $(wildcard examples benchmarks)
INSTALLED := .venv/.installed
JAVA := .venv/.java

help: ## show this list
	@echo "Penstock: make <target> [ARGS='options for the tool']"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

demo: $(JAVA) ## run the main job: out-of-order trades on Spark, checked against plain Python
	$(BIN)/python examples/trades/demo.py $(ARGS)

test: $(JAVA) ## run the tests; of files that take long those whose subject has changed since BASE, with ALL=1 every file (with ARGS: those that ARGS choose)
ifeq ($(ARGS),)
	$(PYTEST) $(FAST) $(CHOSEN)
	$(PYTEST) $(REST) $(ENGINES) $(MARKED)
else
	$(PYTEST) $(ARGS)
endif

test-fast: $(INSTALLED) ## run the quick tests, which need no Spark
	$(PYTEST) $(FAST) $(ARGS)

test-spark: $(JAVA) ## the same without the quick tests
	$(PYTEST) $(REST) $(or $(ARGS),$(ENGINES) $(MARKED))

screenshots: $(JAVA) ## make the pictures in docs/images with the tests of the pages; needs Chromium
	PENSTOCK_SCREENSHOTS=docs/images PENSTOCK_REQUIRE_CHROMIUM=1 $(PYTEST) tests/browser/test_pages.py $(ARGS)

coverage: $(INSTALLED) ## run the quick tests and fail where they cover less of the package than the floor
	$(PYTEST) $(FAST) --cov --cov-report=term $(ARGS)

wheel-check: $(JAVA) ## build the wheel, install it in an empty environment, run README's program from it
	$(BIN)/python scripts/wheel_check

fmt: $(INSTALLED) ## format the code and sort its imports
	$(BIN)/ruff check --quiet --select I --fix $(SOURCES)
	$(BIN)/ruff format $(SOURCES)

lint: $(INSTALLED) ## check style and format
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)

types: $(INSTALLED) ## check types
	$(BIN)/mypy
	$(BIN)/python -m pyright --pythonpath $(BIN)/python

check: lint types ## check style, types, layers, sizes and documents (no test run)
	$(PYTEST) tests/tidy $(ARGS)

bench: $(JAVA) ## measure Penstock beside its peers; the first time it fetches them
	$(BIN)/python -m benchmarks.side_by_side $(ARGS)

bench-quick: $(JAVA) ## the short form of it, under 5 minutes: three workloads, the nearest peers, one round
	$(BIN)/python -m benchmarks.side_by_side --quick $(ARGS)

bench-verify: $(JAVA) ## check that all of them put out the same results
	$(BIN)/python -m benchmarks.side_by_side --verify $(ARGS)

nexmark: $(JAVA) ## the queries of Nexmark in Penstock, Flink SQL and Spark; ARGS=--verify compares their results
	$(BIN)/python -m benchmarks.nexmark $(ARGS)

bench-parts: $(JAVA) ## measure parts of Penstock alone: windows, Kafka, memory, checkpoints and others
	$(BIN)/python benchmarks/run.py $(ARGS)

bench-latency: $(JAVA) ## measure the delay of a record in both modes of Penstock, in PyFlink, Bytewax and Kafka Streams
	$(BIN)/python -m benchmarks.delays $(ARGS)

bench-growth: $(JAVA) ## measure how the cost of a record grows with keys, state, operators, levels, parallelism
	$(BIN)/python -m benchmarks.growth $(ARGS)

bench-page: $(INSTALLED) ## make docs/benchmarks.md and the figures of the README from benchmarks/results
	$(BIN)/python -m benchmarks.page

kill: $(JAVA) ## long runs with random kills, against an oracle
	$(PYTEST) -m "soak or drawn" -n 2 --dist loadfile --no-loadscope-reorder --timeout 7200 $(ARGS)

versions: $(JAVA) ## print the versions of everything that matters
	@$(BIN)/python --version
	@"$$(scripts/java_home)/bin/java" -version
	@$(BIN)/python -m pip list --disable-pip-version-check

clean: ## remove caches and build results (delete .venv yourself for a fresh set-up)
	rm -rf examples/*/run
	rm -rf build dist artifacts spark-warehouse metastore_db derby.log .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage .coverage.*
	find src tests $(wildcard examples benchmarks scripts) -name __pycache__ -type d -prune -exec rm -rf {} +

$(INSTALLED): pyproject.toml scripts/bootstrap
	@scripts/bootstrap
	@touch $@

$(JAVA): $(INSTALLED) scripts/bootstrap_java scripts/java_home
	@scripts/bootstrap_java
	@touch $@
