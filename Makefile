# Everything runs in .venv, which bootstrap.sh makes and keeps up to date.
.POSIX:
.PHONY: help run test test-pg check lock clean
PYTHON = .venv/bin/python
UV = uv
COMPILE = $(UV) pip compile --quiet --universal --python-version 3.12 --generate-hashes --no-emit-index-url \
	--no-emit-find-links --custom-compile-command 'make lock'

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' Makefile

run: ## run Personas with the demo on 127.0.0.1; PORT (8000) and DATABASE_URL (SQLite) choose where
	@./bootstrap.sh run
	@$(PYTHON) bin/run

test: ## run the tests on SQLite, or where DATABASE_URL says; ARGS goes to pytest
	@./bootstrap.sh test
	@$(PYTHON) -m pytest -n auto $(ARGS)

test-pg: ## run the tests on PostgreSQL: that of DATABASE_URL, else a private server
	@./bootstrap.sh test
	@$(PYTHON) bin/with-postgres $(PYTHON) -m pytest -n auto $(ARGS)

check: ## lint, format, types, templates, migrations, system checks
	@./bootstrap.sh test
	$(PYTHON) -m ruff check --quiet --output-format concise .
	$(PYTHON) -m ruff format --quiet --check --output-format concise .
	$(PYTHON) -m djlint --lint --quiet templates
	DEBUG=1 $(PYTHON) manage.py check --fail-level WARNING
	DEBUG=1 $(PYTHON) manage.py makemigrations --check --dry-run
	$(PYTHON) -m mypy

lock: ## lock the packages again; UPGRADE=--upgrade takes newer versions
	$(COMPILE) $(UPGRADE) requirements.in -o requirements.txt
	$(COMPILE) $(UPGRADE) requirements-dev.in -o requirements-dev.txt

clean: ## remove what was made here, except the data in var/
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis static-collected
