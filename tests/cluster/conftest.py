"""One cluster for all tests, and a tree with prepared datasets that each test copies."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from engine import Workflow
from runs import ClusterRun, checkpoint
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
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Workflow:
    """The small study with its datasets, made without a cluster."""
    workflow = Workflow.fresh(tmp_path_factory.mktemp("prepared") / "tree")
    names = ("digits-train", "digits-validation", "digits-known", "digits-new-writers")
    workflow.run(*(f"results/datasets/{name}/dataset.json" for name in names))
    return workflow


@pytest.fixture
def on_cluster(cluster: Cluster, prepared: Workflow, tmp_path: Path) -> Callable[..., ClusterRun]:
    """Make a tree, with additional models that are disturbed."""

    def make(*models: str) -> ClusterRun:
        run = ClusterRun(prepared.copy_to(tmp_path / "tree"), cluster)
        if models:
            run.add_models(*models)
        return run

    return make


@pytest.fixture(scope="session", autouse=True)
def misbehaving(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[ClusterRun, "subprocess.Popen[str]"] | None]:
    """A run of four trainings: too much memory, too much time, an error, and none of these.

    A time limit is at least a minute and a half, so it runs beside the other tests.
    """
    wanted = any("misbehaved" in getattr(i, "fixturenames", ()) for i in request.session.items)
    if not wanted or why_not():
        yield None
        return
    cluster = request.getfixturevalue("cluster")
    prepared = request.getfixturevalue("prepared")
    tree = prepared.copy_to(tmp_path_factory.mktemp("misbehaving") / "tree")
    run = ClusterRun(tree, cluster)
    models = ("greedy", "slow", "broken", "fine")
    run.add_models(*models)
    process = run.start(
        *map(checkpoint, models), "--set-resources", "train_model:runtime=2**(attempt-1)"
    )
    yield run, process
    if process.poll() is None:
        process.kill()
        process.wait()
