# Everything a newcomer needs: make demo, make test. Both set themselves up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
ROUNDS ?= 18
PARALLEL := $(BIN)/pytest --numprocesses auto --dist loadfile --no-loadscope-reorder
# Tests start hundreds of processes: without bytecode each compiles half a thousand files again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test attack faults engine-test test-chain simulate-faults bench soak lint format reference lock clean

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

setup: $(VENV)/.ready  ## Make .venv with the locked dependencies

$(VENV)/.ready: requirements/setup.txt requirements/dev.txt requirements/scanners.txt pyproject.toml sssa/pyproject.toml publisher/pyproject.toml taskmaker/pyproject.toml laboratory/pyproject.toml localnet/pyproject.toml miner/pyproject.toml runner/pyproject.toml validator/__init__.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 …")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/setup.txt
	$(UV) pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements/dev.txt
	$(UV) pip install --quiet --python $(BIN)/python --require-hashes --no-deps -r requirements/scanners.txt
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable ./sssa --editable . --editable ./taskmaker --editable ./publisher --editable ./runner --editable ./miner --editable ./localnet --editable ./laboratory
	@touch $@

demo: setup  ## Run the local network: simulated chain, real miners, HTTP and signatures
	$(BIN)/validator devnet --config config/demo.toml --rounds $(ROUNDS)

test: setup  ## Run every test but those of make attack and make faults, on SQLite and on a real Postgres
	$(PARALLEL) --one-database -m "not attack and not faults and not pages"

attack: setup  ## Every kind of hostility once, what twice the input costs, a cohort that turns, code that cheats its tests, and a few kills -9 at random moments
	$(PARALLEL) -m attack

engine-test: setup  ## Real containers: hostile bundles in the sandbox, on the engine that DOCKER_HOST names; without it, on three that it starts (root)
	$(if $(DOCKER_HOST),SSSA_NEED_ENGINE=1 $(BIN)/pytest -m engine --one-database $(or $(ROOMS),tests/validator/sandbox tests/localnet),.ci/engine test)

simulate-faults: setup  ## The whole daemon on virtual time under drawn faults: SEEDS=200 seeds from FIRST=1, on JOBS=1 processors; RESULTS=file goes on with a run
	PYTHONPATH=tests:tests/core $(BIN)/python -m simulation run --seeds $(or $(SEEDS),200) --first $(or $(FIRST),1) --jobs $(or $(JOBS),1) $(if $(RESULTS),--results $(RESULTS))

soak: setup  ## The local network at 20 times normal speed for SOAK_S=3600 seconds; prints memory, log, store and loop lag
	PYTHONPATH=benchmarks:tests/core $(BIN)/python -m soak --seconds $(or $(SOAK_S),3600)

test-chain: setup  ## The contract of every chain, over a proxy that breaks its connection, too; docs/localnet.md followed; with SUBTENSOR_URL=ws://… also on that node
	$(BIN)/pytest $(if $(SUBTENSOR_URL),,--numprocesses auto) tests/localnet/network tests/validator/chain tests/validator/weights/test_weights_through_a_proxy.py --timeout 7200

faults: setup  ## A store that fails under a running daemon (for FAULTS_S s), a daemon that is stopped (for STOPPED_S s) or out of descriptors
	FAULTS_S=$(or $(FAULTS_S),20) STOPPED_S=$(or $(STOPPED_S),6) $(PARALLEL) -m faults tests/acceptance tests/validator/alerts tests/validator/health --timeout 600

bench: setup  ## Every benchmark beside its floor, or ONLY=score,signatures: one table, and bench.json; figures are ratios, a busy machine fails nothing
	PYTHONPATH=benchmarks:tests/core:tests/validator/kinds $(BIN)/python -m harness $(ONLY)

lint: setup  ## Format check, lint, types, import floors
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup  ## Format and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

reference: setup  ## Write docs/reference, the index of commands, config/validator.toml, the alert rules and the dashboard's advice again from the code, the map of rooms and the table of hostility
	$(BIN)/python -m validator.cli.reference
	$(BIN)/python -m validator.settings > config/validator.toml
	$(BIN)/python -m validator.health.alerts > config/prometheus/rules.yml
	PYTHONPATH=tests/core $(BIN)/python -m hostile.table
	$(BIN)/python tests/docs/rooms_table.py
	PYTHONPATH=tests/core $(BIN)/python tests/validator/alerts/dashboards.py

lock: setup  ## Lock requirements/*.in again, with hashes and without an index host
	for name in setup build sbom runtime scale miner dev fuzz pages runner scanners; do \
	  $(UV) pip compile $$([ $$name != scanners ] || echo --no-deps) --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url \
	    requirements/$$name.in -o requirements/$$name.txt; done

clean:  ## Remove what setup and demo made
	rm -rf $(VENV) build demo.sqlite* demo-2.sqlite* demo-chain.json bench.json soak.json .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
