# make serve, make test: everything is set up on the way. make help lists the rest.
VENV ?= .venv
PYTHON ?= python3
PORT ?= 8000
SCALE ?= 100
# One more than there are cores: while a test waits for a server, another one computes.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(len(os.sched_getaffinity(0)) + 1)' 2>/dev/null || echo auto)
BIN = $(VENV)/bin

.PHONY: help serve test ray chaos hostile check format image loadtest soak clean
.DEFAULT_GOAL := help

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 12

serve: $(VENV)/.serve  ## install and serve on http://127.0.0.1:8000 (PORT=...)
	$(BIN)/ringmt serve --port $(PORT)

# With bytecode: every process that a test starts imports the same modules.
test: $(VENV)/.dev  ## install and run the tests
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal

ray: $(VENV)/.ray  ## install Ray (500 MB) and test two replicas under Ray Serve
	$(BIN)/python -m pytest -q -o faulthandler_timeout=0 tests/docker/test_ray.py

chaos: $(VENV)/.dev  ## try to break a server for an hour or so (SCALE=1 is what the tests do)
	CHAOS_SCALE=$(SCALE) $(BIN)/python -m pytest -q -x -rP -o faulthandler_timeout=0 tests/server/chaos tests/server/api/test_any_request.py

hostile: $(VENV)/.dev  ## what hostile inputs cost a server, in five minutes; writes loadtest/report-hostile.json (BEFORE=...)
	$(BIN)/python -m loadtest.hostile --json loadtest/report-hostile.json $(if $(BEFORE),--before $(BEFORE))

check: $(VENV)/.dev  ## linters, types, import directions
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev  ## format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

image:  ## build the container image ringmt:cpu (docker, podman or buildah)
	docker/build-image.sh $(BUILD_ARGS)

loadtest: $(VENV)/.dev  ## 20 seconds of load on a server started for it; writes loadtest/report.html
	BIN=$(BIN) loadtest/run.sh

soak: $(VENV)/.dev  ## an hour of load (SECONDS_OF_LOAD=...); fails when memory grows
	BIN=$(BIN) SHAPE=soak SECONDS_OF_LOAD=$${SECONDS_OF_LOAD:-3600} LOADTEST_MAX_GROWTH_MB=64 loadtest/run.sh

clean:  ## forget the virtual environment
	rm -rf $(VENV)

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "RingMT needs Python 3.11 or newer: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.serve: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install -q -c docker/constraints.txt -e .
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml docker/constraints.txt
	$(BIN)/python -m pip install -q -c docker/constraints.txt -e '.[train,dev]'
	@touch $@ $(VENV)/.serve

$(VENV)/.ray: $(VENV)/.dev
	$(BIN)/python -m pip install -q -c docker/constraints.txt -e '.[train,dev,ray]'
	@touch $@
