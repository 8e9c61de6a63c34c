# Everything runs in .venv, built from the hash-pinned lock; nothing else on the machine is touched.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test check format lock clean

demo: .venv/ready
	$(BIN)/python examples/us_cities.py

test: .venv/ready
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal

check: .venv/ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python checks/house_rules.py

format: .venv/ready
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Only when pyproject.toml changes; needs uv (pip install uv).
lock:
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-header --no-annotate --extra dev -q -o requirements.lock pyproject.toml

.venv/ready: requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dxgeom needs Python 3.11 or newer; try: make PYTHON=python3.12")'
	rm -rf .venv
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

clean:
	rm -rf .venv demo-output
