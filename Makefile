# Everything runs in environments of its own, each built from a lock with hashes; nothing else on the machine is touched.
PYTHON ?= python3
BIN := .venv/bin
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest
# Where nothing may be written, every process compiles all anew: collecting the tests took 33 s, and takes 20 s without that.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test check licences format test-313 test-extras test-services test-long soak docs wheel test-wheel bench lock clean

# For everybody.

demo: .venv/ready
	$(BIN)/python examples/us_cities.py

# What is short: at most half a second of a slow core each, five minutes in all on two of them.
test: .venv/ready
	$(PYTEST) -n auto --dist worksteal

# For those who change something.

check: .venv/ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python checks/house_rules.py
	$(BIN)/python checks/words.py

# Of all that dxgeom needs, as each library says it itself.
licences: .venv/ready
	$(BIN)/python checks/licences.py

format: .venv/ready
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# What depends most on the version of Python, on 3.13; PYTHON313 says where that is.
PYTHON313 ?= python3.13
ROOMS313 ?= plan_files planner cli engines ledger universe
test-313: .venv-313/ready
	OMP_NUM_THREADS=1 .venv-313/bin/python -m pytest -n auto --dist worksteal $(ROOMS313:%=tests/unit/%)

# What needs optional libraries; a test of theirs that cannot run is a failure here.
test-extras: .venv-peers/ready
	OMP_NUM_THREADS=1 DXGEOM_MUST_RUN=mbi,numba,deltalake,pyiceberg,opendp,polars,sklearn,cvxpy,dp_accounting,python_calamine \
	  .venv-peers/bin/python -m pytest -n auto --dist worksteal -m "needs and not long"

# What needs servers or a browser: PostgreSQL, Java and Chromium from the system's packages; a test that cannot run is a
# failure here, too.
SERVICES ?= postgres,spark,browser,notebook
test-services: .venv-services/ready
	OMP_NUM_THREADS=1 DXGEOM_MUST_RUN=$(SERVICES) .venv-services/bin/python -m pytest -n 2 --dist loadgroup -m service

# Everything else. DXGEOM_SLOT, a number, leaves out those long tests that are neither of privacy nor of its slot of seven.
test-long: .venv/ready
	$(PYTEST) -n auto --dist load --maxschedchunk 1 -rs -m long

# Writers of one ledger, and releases, killed a thousand times; audits of a hundred thousand fits, of ten million draws, of a
# million of the worst pair, of a million quantiles, of a million answers of every family through releases; random tables of people on every engine, counted by hand.
soak: .venv/ready .venv-services/ready
	DXGEOM_KILLS=1000 $(PYTEST) -m "" tests/unit/ledger/test_ledger_processes.py -k killed
	DXGEOM_KILLS=250 $(PYTEST) -m "" -n auto tests/unit/ledger/test_answers_of_killed_processes.py -k "ends or begins"
	DXGEOM_KILLS=1000 $(PYTEST) -m "" tests/unit/planner/test_release_processes.py -k whatever_was_shown
	DXGEOM_LIVES=1000 $(PYTEST) -m long -rP tests/unit/planner/instalments
	DXGEOM_MUST_RUN=jupyterlab .venv-services/bin/python -m pytest -m service tests/services/test_jupyterlab.py
	DXGEOM_POLICIES=6000 $(PYTEST) -m "" -n auto -rP tests/laws/test_noise_by_unit_vectors.py
	DXGEOM_SPOILED=500 $(PYTEST) -m "" -n auto tests/laws/test_witness_laws.py
	DXGEOM_MUTATIONS=10000 $(PYTEST) -m "" -n auto -rP tests/laws/test_mutated_plan_files.py
	DXGEOM_ENUMERATED=200 $(PYTEST) -m "" -n auto -rP tests/laws/test_laws_by_enumeration.py
	DXGEOM_MUTATED_LEDGERS=1500 $(PYTEST) -m "" tests/unit/ledger/test_mutated_files.py
	DXGEOM_FITS=100000 $(PYTEST) -m long tests/unit/learning/test_objective_perturbation.py -k audit
	DXGEOM_MILLION_DRAWS=10 $(PYTEST) -m long -s tests/statistical/test_rounded_gaussian.py
	DXGEOM_OF_THE_PAIR=1000000 $(PYTEST) -m long tests/laws/test_concentrated_laws.py -k worst_pair
	DXGEOM_QUANTILES=1000000 $(PYTEST) -m long -n auto tests/statistical/test_quantile_law.py
	DXGEOM_ANSWERS=1000000 $(PYTEST) -m long -n auto -rP tests/statistical/test_audits_through_release.py
	DXGEOM_TABLES=100 $(PYTEST) -m "not service" -n auto tests/laws/test_*people_by_brute_force.py
	DXGEOM_TABLES=100 DXGEOM_MUST_RUN=postgres,spark .venv-services/bin/python -m pytest -m service tests/laws/test_*people_by_brute_force.py

# The site: pages, notebooks that are run, and a reference made from the code. npm is needed once, for what shows formulas.
docs: .venv-docs/ready
	PATH="$(CURDIR)/.venv-docs/bin:$$PATH" OMP_NUM_THREADS=1 \
	  .venv-docs/bin/python -m sphinx -W --keep-going -q -E -j 2 -c docs -d docs-output/doctrees . docs-output/html
	@echo "docs-output/html/index.html"

wheel: .venv/ready
	rm -rf dist
	$(BIN)/python -m hatchling build -t wheel

# The wheel and what it needs, alone in an environment, away from the source; and what that weighs, with pip.
MOST_MB ?= 601
test-wheel: wheel
	rm -rf .venv-wheel
	$(PYTHON) -m venv .venv-wheel
	sed -e '/--hash=/d' -e 's/ *\\$$//' requirements.lock > dist/constraints.txt
	.venv-wheel/bin/python -m pip install $(PIP) -c dist/constraints.txt dist/*.whl
	.venv-wheel/bin/python checks/installed_size.py .venv-wheel $(MOST_MB)
	checks/try_wheel.sh .venv-wheel/bin/dxgeom
	checks/try_in_chroot.sh .venv-wheel

# All comparisons with other libraries, or those named: make bench BENCHMARKS=benchmarks/checker.py
BENCHMARKS ?= $(filter-out %/smartnoise_mwem.py %/learning_peers.py,$(wildcard benchmarks/*.py))
bench: .venv-peers/ready $(if $(findstring benchmarks/learning.py,$(BENCHMARKS)),.venv-diffprivlib/ready)
	for benchmark in $(BENCHMARKS); do echo "== $$benchmark"; DIFFPRIVLIB=.venv-diffprivlib/bin/python .venv-peers/bin/python $$benchmark || exit 1; done

# Only when pyproject.toml changes; needs uv (pip install uv). Pins that still fit stay; UPGRADE=--upgrade renews them.
LOCK := uv pip compile $(UPGRADE) --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
  --no-annotate -q
lock:
	$(LOCK) --extra plots --group dev -o requirements.lock pyproject.toml
	$(LOCK) --extra plots --extra fast --extra mbi --extra delta --extra iceberg --extra opendp --extra excel --group peers -c requirements.lock -o benchmarks/peers.lock pyproject.toml
	$(LOCK) --group diffprivlib -o benchmarks/diffprivlib.lock
	$(LOCK) --extra plots --extra postgres --extra spark --group services -c requirements.lock -o tests/services/services.lock pyproject.toml
	$(LOCK) --extra plots --group docs -c requirements.lock -o requirements-docs.lock pyproject.toml

PIP := --quiet --disable-pip-version-check

.venv/ready: requirements.lock pyproject.toml
	$(call environment,.venv,$<)
	$(call this_project,.venv)

.venv-313/ready: override PYTHON := $(PYTHON313)
.venv-313/ready: requirements.lock pyproject.toml
	$(call environment,.venv-313,$<)
	$(call this_project,.venv-313)

.venv-peers/ready: benchmarks/peers.lock pyproject.toml
	$(call environment,.venv-peers,$<)
	$(call this_project,.venv-peers)

# Alone, as it needs an older scikit-learn than the others.
.venv-diffprivlib/ready: benchmarks/diffprivlib.lock
	$(call environment,.venv-diffprivlib,$<)
	touch $@

.venv-services/ready: tests/services/services.lock tests/services/axe-core.lock pyproject.toml
	$(call environment,.venv-services,$<)
	$(axe_core)
	$(call this_project,.venv-services)

.venv-docs/ready: requirements-docs.lock docs/mathjax.lock pyproject.toml
	$(call environment,.venv-docs,$<)
	$(mathjax)
	$(call this_project,.venv-docs)

define environment
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dxgeom needs Python 3.11 or newer; try: make PYTHON=python3.12")'
	rm -rf $(1)
	$(PYTHON) -m venv $(1)
	$(1)/bin/python -m pip install $(PIP) --require-hashes -r $(2)
endef

# The judge of pages, of npm's package, which is a file and needs nothing else.
define axe_core
	mkdir -p .venv-services/share/axe-core
	cd .venv-services/share/axe-core && npm pack --silent axe-core@4.14.1
	cd .venv-services/share/axe-core && sha256sum --check --quiet ../../../tests/services/axe-core.lock
	cd .venv-services/share/axe-core && tar -xzf axe-core-4.14.1.tgz --strip-components=1 package/axe.min.js package/LICENSE
endef

# What shows formulas, of npm's package, which is a file and needs nothing else.
define mathjax
	mkdir -p .venv-docs/share/mathjax
	cd .venv-docs/share/mathjax && npm pack --silent mathjax@3.2.2
	cd .venv-docs/share/mathjax && sha256sum --check --quiet ../../../docs/mathjax.lock
	cd .venv-docs/share/mathjax && tar -xzf mathjax-3.2.2.tgz --strip-components=2 package/es5/tex-svg.js
endef

define this_project
	$(1)/bin/python -m pip install $(PIP) --no-deps --no-build-isolation -e .
	touch $(1)/ready
endef

clean:
	rm -rf .venv .venv-313 .venv-diffprivlib .venv-docs .venv-peers .venv-services .venv-wheel demo-output docs-output docs/reference/rooms docs/reference/names dist
