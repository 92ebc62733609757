# Two commands do everything on a fresh machine: `make run` and `make test`.
# Each target sets up .venv when pyproject.toml changed, and is quick otherwise.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
CLUSTER_READY := $(VENV)/.cluster-ready
JOBS   ?= auto
# ZooKeeper runs on the machine's Java, or on pip's where there is none.
comma := ,
CLUSTER_EXTRAS := cluster$(comma)spark$(comma)declarative$(comma)lakehouse$(if $(shell command -v java),,$(comma)java)
KCAT   := $(shell command -v kcat)

COMPARE_READY := $(VENV)/.compare-ready

.PHONY: run cluster maven test check bench bench-spark compare fuzz simulate chaos kills proof copy spark-kills interop rewrite format clean

run: $(READY)                    ## a broker on port 9092 with its data in ./data
	@exec $(BIN)/strandline serve

cluster: $(CLUSTER_READY)        ## three brokers from port 9092 on and a real ZooKeeper, all in ./cluster
	@exec $(BIN)/strandline cluster up --brokers 3

test: check $(CLUSTER_READY)     ## everything a change must pass
	@$(if $(KCAT),,echo "kcat is not here, so its suite is left out: install it with apt-get install kcat")
	@$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup -q -m "not interop" $(if $(KCAT),,--ignore=tests/compat/test_kcat.py)

check: $(READY)                  ## style, types, architecture
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache --no-logo
	@$(BIN)/python -m pytest -q -p no:randomly tests/test_tidy.py

bench: $(READY)                  ## what requests cost beside the bare system calls, and whether that is usual; ALL=1 for everything, BENCH="--only find"
	@$(BIN)/python -m benchmarks $(if $(ALL),--all) $(BENCH)

bench-spark: $(CLUSTER_READY)    ## rows a second and CPU per million rows, from a topic's bytes to Spark; CONNECTOR=1: Spark's own source (Maven) beside ours
	@$(BIN)/python -m benchmarks.spark $(if $(CONNECTOR),--connector)

compare: $(COMPARE_READY)        ## Apache Kafka on this machine, beside us; needs Maven and Java; QUICK=1 takes ten minutes, COMPARE="--only ask"
	@$(BIN)/python -m benchmarks.compare $(if $(filter-out 0,$(QUICK)),--quick) $(COMPARE)

fuzz: $(READY)                   ## 200,000 requests, most of them damaged, against a broker; FUZZ="--frames 1000000 --seed 7" for others
	@$(BIN)/python -m tests.fuzz $(FUZZ)

# Clusters in network namespaces need root, `ip` and `unshare`; without them it says so and fails.
MINUTES ?= 5
simulate: $(READY)               ## 100 fresh seeds in the simulator; SEEDS=2000 for more
	@$(BIN)/strandline simulate --seed $$(date +%s) --seeds $(or $(SEEDS),100)

chaos: $(CLUSTER_READY)          ## faults on real processes for so many MINUTES; CHAOS="--faults ring,storm --seed 7" for some of them
	@$(BIN)/python -m tests.chaos --network --spark --faults all --minutes $(MINUTES) $(CHAOS)

kills: $(CLUSTER_READY)          ## kill -9 of leader, follower and controller in turn, 51 times, with 200,000 records
	@$(BIN)/python -m tests.chaos --cycles 17 --rate 800 --at-least 200000 $(CHAOS)

proof: $(if $(filter-out scoreboard,$(or $(PARTS),all)),$(CLUSTER_READY),$(READY))  ## all of it, and the scoreboard in docs/proof.md; SEEDS=2000 MINUTES=30 FRAMES=1000000 MUTATION_SEEDS=500 PARTS="seeds frames" PROOF="--seed 7"
	@$(BIN)/python -m tests.proof $(PARTS) --minutes $(MINUTES) $(if $(SEEDS),--seeds $(SEEDS)) \
		$(if $(FRAMES),--frames $(FRAMES)) $(if $(MUTATION_SEEDS),--mutation-seeds $(MUTATION_SEEDS)) $(PROOF)

copy: $(READY)                   ## 100,000 records copied exactly once, while brokers and copiers are killed
	@STRANDLINE_COPY_RECORDS=100000 $(BIN)/python -m pytest -q tests/cluster/test_transactions_over_kills.py

spark-kills: $(CLUSTER_READY)    ## 1,000,000 records through Spark while driver, executors, workers and brokers are killed; half an hour
	@$(BIN)/python -m tests.exactness $(KILLS)

interop: $(CLUSTER_READY)        ## Apache Kafka itself as referee; needs Maven and Java, fails without them
	@$(BIN)/python -m pytest -q -m interop -p no:randomly tests/interop

rewrite: $(READY)                ## write the scenario transcripts anew; read the diff before you commit it
	@REWRITE=1 $(BIN)/python -m pytest -q -p no:randomly tests/groups/test_group_scenarios.py \
		tests/replication/test_replication_scenarios.py \
		tests/transactions/test_transaction_scenarios.py tests/controller/test_controller_scenarios.py

format: $(READY)
	@$(BIN)/ruff check --fix -q . ; $(BIN)/ruff format -q .

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .interop

# The editable install also builds the optional compiled module where there is a C compiler.
# Sources only: each install builds the module anew, and must not ask for the next.
$(READY): pyproject.toml setup.py $(wildcard src/strandline/records/_native*.c src/strandline/records/_native*.h)
	@echo "setting up $(VENV) (once; a minute or so)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Strandline needs Python 3.11 or newer; set PYTHON=python3.x")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	@touch $(READY)

# PySpark, 450 MB: Spark itself, and the jars of the ZooKeeper server that the cluster's tests run against.
$(CLUSTER_READY): $(READY)
	@echo "fetching PySpark, with which ZooKeeper's jars come (once; a minute or so)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[$(CLUSTER_EXTRAS)]"
	@touch $(CLUSTER_READY)

# Asked for before anything is fetched.
maven:
	@command -v mvn >/dev/null || { echo "make compare needs Maven to fetch Apache Kafka: there is no mvn on the path." >&2; exit 1; }

# For the charts.
$(COMPARE_READY): $(if $(wildcard $(COMPARE_READY)),,maven) $(CLUSTER_READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[compare]"
	@touch $(COMPARE_READY)
