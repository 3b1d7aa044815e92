"""One cluster for all tests, and a working tree with prepared datasets that each test copies."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from accounting import why_no_accounting
from engine import Workflow
from runs import ClusterRun
from slurm import Cluster, why_not


@pytest.fixture(scope="session")
def slurm() -> None:
    """Skip where there can be no cluster."""
    if reason := why_not():
        pytest.skip(reason)


@pytest.fixture(scope="session")
def cluster(slurm: None) -> Iterator[Cluster]:
    with Cluster.started() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def accounted(slurm: None) -> Iterator[Cluster]:
    """A cluster whose `sacct` has a database to read."""
    if reason := why_no_accounting():
        pytest.skip(reason)
    with Cluster.started(accounting=True) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def oldest_plugin() -> Path:
    """The oldest version of the plugin that the executor is based on (`make cluster-test`)."""
    folder = Path(sys.prefix) / "oldest-slurm-plugin"
    if not folder.exists():
        pytest.skip(f"no {folder}; 'make cluster-test' installs it")
    return folder


MATCHING = "matchings: {probability: {criterion: probability}}"
# Jobs of their own, though they are short, as of large models.
SUITE = """\
training: {models_per_job: 1}
inference: {models_per_job: 1}
suites: {all: {members: [digits-validation, digits-new-writers]}}
suite_accuracies: {suites: {all: digits-known}}
"""


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Workflow:
    """The small study, with one matching and a suite; its datasets are made without a cluster."""
    workflow = Workflow.fresh(tmp_path_factory.mktemp("prepared") / "tree")
    workflow.edit("small.yaml", "{seeds: 4", f"{{{MATCHING}, seeds: 4")
    with (workflow.folder / "small.yaml").open("a") as stream:
        stream.write(SUITE)
    names = ("digits-train", "digits-validation", "digits-known", "digits-new-writers")
    workflow.run(*(f"results/datasets/{name}/dataset.json" for name in names))
    return workflow


MakeRun = Callable[..., ClusterRun]


@pytest.fixture
def on_cluster(cluster: Cluster, prepared: Workflow, tmp_path: Path) -> MakeRun:
    """Make a tree, with additional models that are disturbed."""
    return _maker(cluster, prepared, tmp_path)


@pytest.fixture
def own_cluster(slurm: None, prepared: Workflow, tmp_path: Path) -> Iterator[MakeRun]:
    """Do the same on a cluster that the test may break: other tests' jobs are not on it."""
    with Cluster.started() as cluster:
        yield _maker(cluster, prepared, tmp_path)


def _maker(cluster: Cluster, prepared: Workflow, folder: Path) -> MakeRun:
    def make(*models: str) -> ClusterRun:
        run = ClusterRun(prepared.copy_to(folder / "tree"), cluster)
        if models:
            run.add_models(*models)
        return run

    return make
