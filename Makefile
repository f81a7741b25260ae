# Everything a newcomer needs: make demo, make test. Both set themselves up.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
ROUNDS ?= 18
PARALLEL := $(BIN)/pytest --numprocesses auto --dist loadfile --no-loadscope-reorder
# Tests start hundreds of processes: without bytecode each compiles half a thousand files again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test attack faults bench bench-dendrite bench-log bench-sandbox bench-scanners bench-spread bench-workers honest-runs hostile soak simulate-faults simulate-mutations replay-faults kill-test crashes execution-kills engine-test compose-test worker-test crash-test replay-test random-pools random-documents fuzz real-skills wild-skills benign-skills test-chain pages-test lint format reference wheel pictures lock clean

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

setup: $(VENV)/.ready  ## Make .venv with the locked dependencies

$(VENV)/.ready: requirements/setup.txt requirements/dev.txt requirements/scanners.txt pyproject.toml laboratory/pyproject.toml localnet/pyproject.toml miner/pyproject.toml runner/pyproject.toml validator/__init__.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 …")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/setup.txt
	$(UV) pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements/dev.txt
	$(UV) pip install --quiet --python $(BIN)/python --require-hashes --no-deps -r requirements/scanners.txt
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable . --editable ./runner --editable ./miner --editable ./localnet --editable ./laboratory
	@touch $@

demo: setup  ## Run the local network: simulated chain, real miners, HTTP and signatures
	$(BIN)/validator devnet --config config/demo.toml --rounds $(ROUNDS)

test: setup  ## Run every test but those of make attack and make faults, on SQLite and on a real Postgres
	$(PARALLEL) --one-database -m "not attack and not faults and not pages"

attack: setup  ## Every kind of hostility once, what twice the input costs, a cohort that turns, code that cheats its tests, and a few kills -9 at random moments
	$(PARALLEL) -m attack

engine-test: setup  ## Real containers: hostile bundles in the sandbox, on the engine that DOCKER_HOST names; without it, on three that it starts (root)
	$(if $(DOCKER_HOST),SSSA_NEED_ENGINE=1 $(BIN)/pytest -m engine --one-database $(or $(ROOMS),tests/sandbox tests/localnet),.ci/engine test)

compose-test: setup  ## The operator's image built twice, and docker-compose.yml run, on an engine with networks; prints the figures
	SSSA_NEED_ENGINE=1 $(BIN)/pytest -m engine tests/compose -s --durations=0

crash-test: setup  ## 200 kills around the submission of weights on each database, ten processes in a race; prints the figures
	CRASH_KILLS=200 CRASH_RACERS=10 $(BIN)/pytest tests/weights/test_crashes.py -s --timeout 3600

worker-test: setup  ## 1,000 executions, four worker processes, a kill -9 of one of them every two seconds; prints the figures
	WORKER_JOBS=$(or $(WORKER_JOBS),1000) $(BIN)/pytest tests/waiting/test_worker_processes.py -s --timeout 3600

kill-test: setup  ## 20 kills -9 at random moments of whole rounds on each database; prints the figures
	KILLS=$(or $(KILLS),20) $(BIN)/pytest tests/acceptance/test_kills.py -s --timeout 3600

crashes: setup  ## CRASHES=50 faults of a real Postgres under writers, FAILOVERS=20 to a replica, POWER_CUTS=1000 of a SQLite file; prints the figures
	CRASHES=$(or $(CRASHES),50) FAILOVERS=$(or $(FAILOVERS),20) POWER_CUTS=$(or $(POWER_CUTS),1000) $(BIN)/pytest tests/crashes -s

execution-kills: setup  ## 20 kills -9 among executions in real containers, on each database; prints the figures
	EXECUTION_KILLS=$(or $(KILLS),20) SSSA_NEED_ENGINE=1 $(BIN)/pytest -m engine tests/sandbox/test_execution_kills.py -s --timeout 3600

bench-workers: setup  ## What a worker process costs per job; what two of them do against one
	$(BIN)/python benchmarks/worker_throughput.py

bench-spread: setup  ## How much of a miner's weight is luck of the draw: RUNS=4 local networks with two validators each
	RUNS=$(or $(RUNS),4) $(BIN)/python benchmarks/validator_spread.py

bench-sandbox: setup  ## What the execution of one task (three runs) and one judging of code cost of their own, on the engine that DOCKER_HOST names
	$(BIN)/python benchmarks/sandbox_cycle.py
	$(BIN)/python benchmarks/code_cycle.py

honest-runs: setup  ## Honest runs of TASKS=44 bundles compared across kernels, processors and hosts, on the engine that DOCKER_HOST names
	$(BIN)/python benchmarks/honest_runs.py

hostile: setup  ## Every kind of hostility against a running daemon, round after round, sixty answers at their limits, and workers killed over answers; prints the figures
	HOSTILE_ROUNDS=$(or $(HOSTILE_ROUNDS),16) $(BIN)/pytest tests/acceptance/test_hostile_answers.py tests/acceptance/test_full_answers.py tests/workers/test_killed_workers.py -s --timeout 3600

simulate-faults: setup  ## The whole daemon on virtual time under drawn faults: SEEDS=200 seeds from FIRST=1, on JOBS=1 processors; RESULTS=file goes on with a run
	PYTHONPATH=.:tests/core $(BIN)/python -m simulation run --seeds $(or $(SEEDS),200) --first $(or $(FIRST),1) --jobs $(or $(JOBS),1) $(if $(RESULTS),--results $(RESULTS))

simulate-mutations: setup  ## Careless changes of the program, each in a copy: the first of SEEDS=200 seeds that finds it
	PYTHONPATH=.:tests/core $(BIN)/python -m simulation.mutations --seeds $(or $(SEEDS),200) --jobs $(or $(JOBS),1) $(if $(ONLY),--only $(ONLY))

replay-faults: setup  ## One seed of `make simulate-faults` again: SEED=n, and FAULTS=0,3,5 for some of its faults alone
	PYTHONPATH=.:tests/core $(BIN)/python -m simulation replay $(SEED) $(if $(FAULTS),--faults $(FAULTS))

soak: setup  ## The local network at 20 times normal speed for SOAK_S=3600 seconds; prints memory, log, store and loop lag
	PYTHONPATH=benchmarks:tests/core $(BIN)/python -m soak --seconds $(or $(SOAK_S),3600)

test-chain: setup  ## The contract of every chain, over a proxy that breaks its connection, too; docs/localnet.md followed; with SUBTENSOR_URL=ws://… also on that node
	$(BIN)/pytest $(if $(SUBTENSOR_URL),,--numprocesses auto) tests/localnet/network tests/chain tests/weights/test_weights_through_a_proxy.py --timeout 7200

faults: setup  ## A store that fails under a running daemon (for FAULTS_S s), a daemon that is stopped (for STOPPED_S s) or out of descriptors
	FAULTS_S=$(or $(FAULTS_S),20) STOPPED_S=$(or $(STOPPED_S),6) $(PARALLEL) -m faults tests/acceptance tests/alerts tests/health --timeout 600

bench: setup  ## Every benchmark beside its floor, or ONLY=score,signatures: one table, and bench.json; figures are ratios, a busy machine fails nothing
	PYTHONPATH=benchmarks:tests/core:tests/kinds $(BIN)/python -m harness $(ONLY)

bench-dendrite: setup  ## Calls beside those of bittensor 10's dendrite, which comes from the package index into .venv-dendrite
	test -x .venv-dendrite/bin/python || $(PYTHON) -m venv .venv-dendrite
	.venv-dendrite/bin/python -m pip install --quiet --disable-pip-version-check 'bittensor==10.*'
	PYTHONPATH=benchmarks:tests/core $(BIN)/python -m peers .venv-dendrite/bin/python

bench-scanners: setup  ## How alike three real scanners are on BUNDLES=180 planted bundles; two of them come from the package index into .venv-scanners
	test -x .venv-scanners/bin/guarddog || ($(PYTHON) -m venv .venv-scanners && .venv-scanners/bin/python -m pip install --quiet --disable-pip-version-check 'guarddog==3.2.0' 'detect-secrets==1.5.0')
	PYTHONPATH=benchmarks $(BIN)/python benchmarks/scanners_alike.py .venv-scanners/bin $(or $(BUNDLES),180)

bench-growth: setup  ## How time, memory and size grow with MINERS=64,…, FINDINGS=5,… and DAYS=1,7,30: tables, and docs/pictures/growth-*.svg
	PYTHONPATH=benchmarks:tests/core:tests/kinds $(BIN)/python -m growth

real-skills: setup  ## Real packages with planted faults, over the network: what analysers find of them, into docs/reference-miner.md; QUICK=1 tries it
	PYTHONPATH=benchmarks $(BIN)/python -m real_skills $(if $(QUICK),--only vulture --only gsd-agents --count 2 --rounds 3)

wild-skills: setup  ## Malicious skills in the style of those in the wild, and benign twins: recall and twins flagged
	PYTHONPATH=benchmarks $(BIN)/python -m wild_skills

benign-skills: setup  ## Popular packages, fetched by benchmarks/wild_skills/popular.json: verdicts, findings and processor time
	test -d build/benign-skills || (PYTHONPATH=benchmarks $(BIN)/python benchmarks/package_downloads.py benchmarks/wild_skills/popular.json build/benign-sources \
	  && $(BIN)/validator tasks pack --manifest build/benign-sources/packages.json --out build/benign-skills)
	PYTHONPATH=benchmarks $(BIN)/python -m wild_skills build/benign-skills

bench-log: setup  ## What the log costs as it grows to LOG_ROUNDS=1600: memory and time of audit verify, bytes of weights and digests
	LOG_ROUNDS=$(or $(LOG_ROUNDS),1600) $(BIN)/python benchmarks/audit_growth.py

replay-test: setup  ## Two long runs of the local network, replayed on both databases and every Python here
	REPLAY_ROUNDS=$(or $(REPLAY_ROUNDS),200) $(BIN)/pytest tests/acceptance/test_replay_run.py -s --timeout 7200

random-pools: setup  ## 100,000 random pools against the plain selection
	RANDOM_POOLS=$(or $(RANDOM_POOLS),100000) $(BIN)/pytest tests/core/test_random_pools.py --timeout 3600

fuzz: setup  ## Every parser of outside bytes, fuzzed for SECONDS=30 of a processor each by atheris (by hypothesis where that does not install), JOBS=1 at a time; INPUTS=folder goes on with a run
	-$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r requirements/fuzz.txt
	PYTHONPATH=tests:tests/core $(BIN)/python -m fuzz --seconds $(or $(SECONDS),30) --jobs $(or $(JOBS),1) $(if $(INPUTS),--inputs $(INPUTS))

random-documents: setup  ## 1,000,000 random documents, written and read: the fast ways against the plain ones
	RANDOM_DOCUMENTS=$(or $(RANDOM_DOCUMENTS),1000000) $(BIN)/pytest tests/core/test_random_documents.py -s --timeout 7200

pages-test: setup  ## The API against its own document (schemathesis), every screen in a real Chromium (apt-get install chromium); PAGES_PICTURES=1 writes docs/pictures/page-*.png again
	$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r requirements/pages.txt
	$(BIN)/pytest -m pages tests/web

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
	PYTHONPATH=tests/core $(BIN)/python tests/alerts/dashboards.py

wheel: setup  ## Build the validator's wheel into dist/, for a machine without a clone
	$(BIN)/hatchling build -t wheel

pictures: setup  ## Make docs/pictures again from a run of the local network; some minutes
	$(BIN)/python tests/golden/regenerate_pictures.py

lock: setup  ## Lock requirements/*.in again, with hashes and without an index host
	for name in setup build sbom runtime scale miner dev fuzz pages runner scanners; do \
	  $(UV) pip compile $$([ $$name != scanners ] || echo --no-deps) --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url \
	    requirements/$$name.in -o requirements/$$name.txt; done

clean:  ## Remove what setup and demo made
	rm -rf $(VENV) .venv-dendrite build demo.sqlite* demo-2.sqlite* demo-chain.json bench.json soak.json .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
