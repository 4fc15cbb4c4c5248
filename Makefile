# Every target makes .venv first when it is missing or when the pins changed, and never twice.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint bench docs tree clean

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch .venv/ready

demo: .venv/ready
	@$(BIN)/python examples/demo/demo.py

test: .venv/ready
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto --dist loadfile

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/ready
	$(BIN)/python -m benchmarks $(ARGS)

tree: .venv/ready
	$(BIN)/python tools/tree.py

docs: .venv/ready
	$(BIN)/python -m unruly.cli.reference > docs/cli.md
	$(BIN)/mkdocs build --strict --quiet

clean:
	rm -rf .venv site
