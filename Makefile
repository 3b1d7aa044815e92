# `make demo` runs the default study, `make test` the tests. The first call installs the versions
# pinned in envs/workflow.txt or, with the tools of development, in envs/lock.txt into .venv.
#
#   make demo TORCH_INDEX=https://download.pytorch.org/whl/cpu    # on Linux: a CPU-only torch, 6 GB smaller
#   make demo PYTHON=python3.12 CORES=8

PYTHON ?= python3
CORES ?= all
TORCH_INDEX ?=
VENV := .venv
BIN := $(VENV)/bin
RELEASE := $(VENV)/release
# For `make pins`: --upgrade-package NAME, or nothing after a change of pyproject.toml's requirements.
UPGRADE ?= --upgrade
COMPILE := $(RELEASE)/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
	--custom-compile-command 'make pins'
DATA ?= data/recht
# Where it is set, every job and every test compiles all modules that it imports: half of a plan's time.
unexport PYTHONDONTWRITEBYTECODE
SHIFTS ?= digits-shifts
DOMAINS ?= digit-domains
# A process of pytest that is killed is not started again: pytest-xdist then waits for ever under `loadfile`.
PARALLEL := --numprocesses auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder --max-worker-restart 0
# A test that hangs, fixtures included, shows where and ends its process, whose test pytest-xdist names.
LIMITED := -o faulthandler_timeout=900 -o faulthandler_exit_on_timeout=true
# Threads of processes that compete for cores must not spin while they wait for each other.
test test-all quick: export OMP_WAIT_POLICY := passive
QUICK = $$(grep -LE 'torch|subprocess|training|Workflow|warehouse|figure|playwright' tests/unit/test_*.py)
RECHT := recht-cifar10 recht-imagenet recht-revisions
SNAKEFILES := Snakefile $(wildcard rules/*.smk)

.PHONY: help demo cifar10.1 cifar10.1-docs slurm recht recht-docs cifar10-docs severity-docs sampling-docs accuracy-docs domains domains-docs \
	test test-all quick cluster-test gpu-test wheel-test browser-test lint format docs site \
	settings fingerprints stages pins audit dist archive lowest-test clean

help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

## make demo      run the digits study: tables and figures appear in results/digits/
demo: $(VENV)/.workflow
	$(BIN)/snakemake --profile profiles/laptop --cores $(CORES)
	@echo "Done: open results/digits/report.html in a browser; tables and figures are beside it."

## make cifar10.1  run 84 published networks' predictions on CIFAR-10 and CIFAR-10.1 (downloads 89 MB): results/cifar10.1-published/
cifar10.1: $(VENV)/.workflow
	$(BIN)/snakemake --profile profiles/laptop --cores $(CORES) --configfile studies/cifar10.1-published.yaml
	@echo "Done: open results/cifar10.1-published/report.html in a browser; tables and figures are beside it."

## make cifar10.1-docs  update these results in README.md and the pages (benchmarks/published_pair.py first)
cifar10.1-docs: cifar10.1
	$(BIN)/snakemake few_labels --profile profiles/laptop --cores $(CORES) --configfile studies/cifar10.1-published.yaml \
		--config 'few_labels={pairs: [cifar10.1], designs: [random, mixed]}'
	PYTHONPATH=workflow_scripts $(BIN)/python docs/make_published_page.py
	PYTHONPATH=workflow_scripts $(BIN)/python docs/make_readme.py

## make domains   domain generalisation on digits: results appear in results/digit-domains/
domains: $(VENV)/.workflow
	$(BIN)/snakemake --profile profiles/laptop --cores $(CORES) --configfile studies/digit-domains.yaml
	@echo "Done: start with results/digit-domains/domain_generalization/results.md."

## make recht     recompute the tables and figures of Recht et al. (2019) from their predictions in DATA=folder
recht: $(VENV)/.workflow
	@for file in cifar10_1_predictions.npz imagenetv2_predictions.npz imagenetv2_b23_accuracy.csv; do \
		test -f "$(DATA)/$$file" || { echo "error: no $$file in $(DATA);" \
			"name the folder of the released predictions (docs/replication.md): make recht DATA=..." >&2; exit 1; }; \
	done
	@test "$(DATA)" -ef data/recht || { test ! -e data/recht || test -L data/recht || { \
		echo "error: data/recht is a folder, which the studies would read instead of $(DATA);" \
			"move it elsewhere, or leave DATA out" >&2; exit 1; }; \
		mkdir -p data && ln -sfn "$$(realpath "$(DATA)")" data/recht; }
	for study in $(RECHT); do \
		$(BIN)/snakemake --profile profiles/laptop --cores $(CORES) --configfile studies/$$study.yaml || exit 1; \
	done
	@echo "Done: tables are in results/recht-*/, in one folder per analysis, figures in figures/;"
	@echo "results/recht-*/published_values/comparison.md compares them with the values in the paper."

## make recht-docs  update these results in docs/replication.md
recht-docs: recht
	mkdir -p docs/replication
	PYTHONPATH=workflow_scripts $(BIN)/python docs/make_replication_page.py $(RECHT)
	cp results/recht-cifar10/figures/v4/replication/top1-linear.png docs/replication/cifar10-linear.png
	cp results/recht-cifar10/figures/v4/replication/top1-probit.png docs/replication/cifar10-probit.png
	cp results/recht-imagenet/figures/matched-frequency/replication/top1-linear.png docs/replication/imagenet-linear.png
	cp results/recht-imagenet/figures/matched-frequency/replication/top1-probit.png docs/replication/imagenet-probit.png
	cp results/recht-imagenet/figures/difficulty/matched-frequency-top1.png docs/replication/difficulty.png
	cp results/recht-imagenet/figures/shared_errors/MatchedFrequency.png docs/replication/shared-errors.png

## make test      run the tests that are not marked as slow (their results go to temporary folders)
test: $(VENV)/.all
	$(BIN)/python -m pytest $(PARALLEL) $(LIMITED) -m 'not slow'

## make test-all  run all tests but those of clusters and of the wheel
test-all: $(VENV)/.all
	$(BIN)/python -m pytest $(PARALLEL) $(LIMITED)

## make quick     run the tests of the library that train nothing, start no process and draw nothing
quick: $(VENV)/.all
	$(BIN)/python -m pytest $(PARALLEL) $(LIMITED) $(QUICK)

## make gpu-test  run on each GPU what studies run there: results/gpu-test.xml, a file to send with a report
gpu-test: $(VENV)/.all
	$(BIN)/python -m pytest $(LIMITED) --junit-xml=results/gpu-test.xml tests/gpu

## make wheel-test  install the built wheel into a fresh environment, without torch, and use it there
wheel-test: $(VENV)/.all
	$(BIN)/python -m pytest $(LIMITED) tests/wheel

## make browser-test  run the tests of the report in a real browser (Chromium; root on Debian installs it)
browser-test: $(VENV)/.all $(VENV)/.chromium
	$(BIN)/python -m pytest tests/unit/test_report.py

## make slurm     install what is needed to run studies on a SLURM cluster (docs/cluster.md)
slurm: $(VENV)/.workflow
	@echo "Next: name your partitions in profiles/slurm/config.yaml; docs/cluster.md describes the next steps."

## make cluster-test  run the tests that start and stop a real SLURM on this machine (root, Debian)
cluster-test: $(VENV)/.all $(VENV)/.cluster
	$(BIN)/python -m pytest $(LIMITED) tests/cluster

## make lint      check style, types and the workflow
lint: $(VENV)/.all
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PATH=$(CURDIR)/$(BIN):$$PATH $(BIN)/snakefmt --check $(SNAKEFILES)
	$(BIN)/snakemake --lint

## make format    format the code
format: $(VENV)/.all
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	PATH=$(CURDIR)/$(BIN):$$PATH $(BIN)/snakefmt $(SNAKEFILES)

## make docs      update the digits results in docs/digits/, which the README shows
docs: demo
	mkdir -p docs/digits
	$(BIN)/snakemake --profile profiles/laptop --cores $(CORES) \
		results/digits/score_comparison/new-writers.md results/digits/few_labels/new-writers.csv \
		--config 'inference={outputs: [logits, features]}' 'few_labels={pairs: [new-writers]}' \
		'score_comparison={pairs: [new-writers], validation: digits-validation, class_means: digits-train}'
	cp results/digits/score_comparison/new-writers.md docs/digits/score_comparison.md
	cp results/digits/few_labels/new-writers.csv docs/digits/few_labels.csv
	cp results/digits/summary.md docs/digits/summary.md
	cp results/digits/tables/new-writers/label_probability.csv docs/digits/accuracies.csv
	cp results/digits/tables/new-writers/probability.csv docs/digits/probability.csv
	cp results/digits/gaps/new-writers.csv docs/digits/gaps.csv
	cp results/digits/gaps/new-writers/label_probability.csv docs/digits/gaps_of_models.csv
	for f in matched_accuracy gaps; do \
		cp results/digits/figures/new-writers/label_probability/$$f.png docs/digits/$${f}_label_probability.png; \
	done
	PYTHONPATH=workflow_scripts $(BIN)/python docs/make_readme.py

## make severity-docs  run the corruptions of CIFAR-10 images, and update their results in docs/results.md
severity-docs: $(VENV)/.workflow
	$(BIN)/snakemake severity --profile profiles/laptop --cores $(CORES) --configfile studies/cifar10-shifts.yaml
	mkdir -p docs/severity
	PYTHONPATH=workflow_scripts $(BIN)/python docs/make_severity_page.py cifar10-shifts corruptions
	PYTHONPATH=workflow_scripts $(BIN)/python docs/make_readme.py

## make cifar10-docs  run the check on CIFAR-10 images, and update its results in docs/results.md
cifar10-docs: $(VENV)/.workflow
	$(BIN)/snakemake --profile profiles/laptop --cores $(CORES) --configfile studies/cifar10-check.yaml
	mkdir -p docs/cifar10-check
	cp results/cifar10-check/gaps/jpeg.csv docs/cifar10-check/gaps.csv
	cp results/cifar10-check/gaps/jpeg/label_probability.csv docs/cifar10-check/gaps_of_models.csv
	cp results/cifar10-check/gaps/jpeg/probability.csv docs/cifar10-check/
	cp results/cifar10-check/replication/jpeg/top1.csv docs/cifar10-check/accuracies.csv
	cp results/cifar10-check/paired_gaps/jpeg.csv docs/cifar10-check/paired_gaps.csv
	cp results/cifar10-check/score_comparison/jpeg.md docs/cifar10-check/score_comparison.md
	cp results/cifar10-check/figures/jpeg/label_probability/gaps.png docs/cifar10-check-gaps.png
	PYTHONPATH=workflow_scripts $(BIN)/python docs/make_readme.py

## make sampling-docs  run the sampling study on digits, and update its results in docs/analyses/sampling/, which
##                docs/analyses.md#sampling shows
sampling-docs: $(VENV)/.workflow
	$(BIN)/snakemake --profile profiles/laptop --cores $(CORES) --configfile studies/digits-sampling.yaml
	mkdir -p docs/analyses/sampling
	cp results/digits-sampling/replication/changes.md docs/analyses/sampling/
	cp results/digits-sampling/figures/selection_frequency/matched-frequency.png docs/analyses/sampling/by-frequency.png

## make accuracy-docs  run a study of predicted accuracies, and update its results in docs/accuracy-prediction.md:
##                SHIFTS=digits-shifts (default), or cifar10-shifts with its files in data/
accuracy-docs: $(VENV)/.workflow
	$(BIN)/snakemake --profile profiles/laptop --cores $(CORES) --configfile studies/$(SHIFTS).yaml
	PYTHONPATH=workflow_scripts $(BIN)/python docs/make_accuracy_page.py $(SHIFTS)

## make site      build the documentation site in build/site/ (start with index.html)
site: $(VENV)/.all
	PYTHONPATH=workflow_scripts $(BIN)/python -m sphinx -E -q -W --keep-going docs build/site

## make domains-docs  take the results of DOMAINS=digit-domains (default), pacs or digit-domains-real, which lie in
##                results/, over into docs/domain-generalization.md
domains-docs: $(VENV)/.workflow
	PYTHONPATH=workflow_scripts $(BIN)/python docs/make_domains_page.py $(DOMAINS)

## make settings  write the JSON schemas of studies and results, docs/settings.md and docs/tables.md, after a change of settings or tables
settings: $(VENV)/.workflow
	$(BIN)/python docs/make_settings.py

## make fingerprints  enter changed results of training, inference and datasets, after their version was raised
fingerprints: $(VENV)/.all
	$(BIN)/python tests/fingerprints.py

## make stages    enter that edits of training, inference and datasets have been decided on
stages: $(VENV)/.workflow
	PYTHONPATH=workflow_scripts $(BIN)/python docs/enter_stages.py

## make pins      renew envs/*.txt, within the ranges of pyproject.toml; UPGRADE='--upgrade-package numpy' renews one
pins: $(RELEASE)/.installed
	$(COMPILE) $(UPGRADE) pyproject.toml --all-extras --output-file envs/lock.txt
	$(COMPILE) pyproject.toml --constraint envs/lock.txt --extra workflow --extra slurm --extra pacs --output-file envs/workflow.txt
	$(COMPILE) $(UPGRADE) --group release --output-file envs/release.txt
	sed -n 's/^\([^ #=]*\)==\([^ ]*\).*/\1 \2/p' envs/lock.txt | while read -r name version; do \
		sed -i "s/^\( *- $$name\)==.*/\1==$$version/" envs/*.yaml; \
		sed -i "s/^\(requires = ..$$name\)==[^\"]*/\1==$$version/" pyproject.toml; \
	done

## make audit     look for published vulnerabilities of the pinned versions
audit: $(RELEASE)/.installed
	for lock in envs/lock.txt envs/release.txt; do \
		$(RELEASE)/bin/pip-audit --strict --require-hashes --disable-pip --requirement $$lock || exit 1; \
	done

## make dist      the wheel, and the list of what it is run with (SBOM, CycloneDX), in dist/
dist: $(RELEASE)/.installed
	rm -rf dist
	$(RELEASE)/bin/uv build --quiet --out-dir dist --require-hashes --build-constraints envs/lock.txt
	$(RELEASE)/bin/cyclonedx-py requirements --pyproject pyproject.toml --output-reproducible \
		--output-file dist/matched-eval.cdx.json envs/workflow.txt

## make archive   all results in results/ as dist/results.tar.gz, with their SHA-256: `sha256sum --check results.sha256` compares them
archive:
	mkdir -p dist
	find results -type f -not -path '*/logs/*' -not -path '*/benchmarks/*' -not -name '.*' -print0 \
		| sort --zero-terminated | xargs --null sha256sum > dist/results.sha256
	sed 's/^.\{66\}//' dist/results.sha256 | tar --create --gzip --file dist/results.tar.gz --files-from - --directory dist results.sha256

## make lowest-test  the tests of `make quick`, and a dry run, with the lowest versions that pyproject.toml allows
lowest-test: $(RELEASE)/.installed
	$(RELEASE)/bin/uv venv --quiet --clear --python $(PYTHON) $(VENV)/lowest
	$(RELEASE)/bin/uv pip install --quiet --python $(VENV)/lowest/bin/python --resolution lowest-direct \
		--editable '.[workflow,test,slurm]'
	PATH=$(CURDIR)/$(VENV)/lowest/bin:$$PATH snakemake --profile profiles/laptop --cores 1 --dry-run --quiet
	$(VENV)/lowest/bin/python -m pytest --numprocesses auto $(QUICK)

## make clean     remove the environment and caches, not the results
clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "error: $(PYTHON) is older than Python 3.11; name another: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "error: $(PYTHON) cannot create environments; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }

$(VENV)/.workflow: pyproject.toml envs/workflow.txt | $(VENV)/bin/python
	@echo "Installing into $(VENV) (once; a few minutes) ..."
	TORCH_INDEX=$(TORCH_INDEX) sh envs/install.sh $(BIN)/python envs/workflow.txt --editable=.
	@touch $@

# With the tools of development. It is left to the first import to compile a module, because most are never imported.
$(VENV)/.all: pyproject.toml envs/lock.txt | $(VENV)/bin/python
	TORCH_INDEX=$(TORCH_INDEX) PIP_COMPILE=0 sh envs/install.sh $(BIN)/python envs/lock.txt --editable=.
	@touch $(VENV)/.workflow $@

$(RELEASE)/.installed: envs/release.txt | $(VENV)/bin/python
	$(BIN)/python -m venv $(RELEASE)
	$(RELEASE)/bin/python -m pip install --disable-pip-version-check --quiet --require-hashes --no-deps -r envs/release.txt
	@touch $@

# Debian's packages are installed where they can be; without, pytest says why tests are skipped.
debian = if [ "$$(id -u)" = 0 ] && command -v apt-get && ! command -v $(1); then \
		export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1; \
		apt-get update && apt-get install -y --no-install-recommends $(2); \
	fi > $(VENV)/apt-$(1).log 2>&1 || tail -n 3 $(VENV)/apt-$(1).log

$(VENV)/.chromium: | $(VENV)/bin/python
	@$(call debian,chromium,chromium)
	@touch $@

$(VENV)/.cluster: | $(VENV)/bin/python
	@$(call debian,slurmctld,slurm-wlm munge)
	@touch $@
