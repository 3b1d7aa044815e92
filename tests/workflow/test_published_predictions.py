"""Published predictions in the real workflow: downloaded from a list, true classes elsewhere."""

import csv
import hashlib
import io
from urllib.parse import quote

import numpy as np
import pytest
import yaml
from engine import Workflow, known

from image_sets import npy
from servers import serving

pytestmark = pytest.mark.slow

SIZES = {"old": 300, "new": 200}
MODELS = ("one", "two", "three")
RNG = np.random.default_rng(0)
TRUTH = {name: RNG.integers(0, 4, n) for name, n in SIZES.items()}
SOURCES = "workflow_scripts/matcheval/downloads/sources.yaml"
CONFIG = """\
study: published
models: studies/small.csv
datasets:
  old: &published
    kind: predictions
    download: &files {{files: list.csv, dataset: old, address: "{address}/at"}}
    labels: old_labels.npy
    columns: {{logits: preds}}
    classes: [w, x, y, z]
  new: {{<<: *published, download: {{<<: *files, dataset: new}}, labels: new_labels.npy}}
pairs: {{both: {{original: old, replication: new}}}}
matching: {{seeds: 3, criteria: [probability]}}
replication: {{resamples: 500}}
figures: {{formats: [png]}}
"""
TABLES = [
    "results/published/tables/both/probability.parquet",
    "results/published/accuracies/new.parquet",
]


def as_published(dataset, logits, **changed):
    """A file in the published format, in which `labels` are the predicted classes."""
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    found = {
        "preds": logits, "probs": p / p.sum(axis=1, keepdims=True), "labels": logits.argmax(axis=1),
        "acc": np.mean(logits.argmax(axis=1) == TRUTH[dataset]), "loss": 1.25,
    }  # fmt: skip
    stream = io.BytesIO()
    np.savez(stream, **found | changed)
    return stream.getvalue()


def logits_of(dataset):
    """Logits of a network that is right most of the time."""
    noise = RNG.normal(size=(SIZES[dataset], 4)).astype(np.float32)
    return noise + 2 * np.eye(4, dtype=np.float32)[TRUTH[dataset]]


LOGITS = {(model, dataset): logits_of(dataset) for model in MODELS for dataset in SIZES}


def path_of(model, dataset):
    """Where a file is published; some names begin with a space, as the real ones do."""
    return f"model_results/net|{model}/{' ' * (model == 'two')}predictions_{dataset}.npz"


class Published:
    """Files on a server, and a study that downloads them."""

    def __init__(self, server, workflow):
        self.server, self.workflow = server, workflow
        self.files = {key: as_published(key[1], logits) for key, logits in LOGITS.items()}

    def publish(self):
        """Serve the files, and write their list and that of the true classes."""
        labels = {f"{name}_labels.npy": npy(truth) for name, truth in TRUTH.items()}
        address = self.server.address
        served = {f"at/{quote(path_of(*key))}": content for key, content in self.files.items()}
        self.server.files = served | labels
        entries = {
            name: {"urls": [f"{address}/{name}"], "sha256": hashlib.sha256(one).hexdigest()}
            for name, one in labels.items()
        }
        tree = self.workflow.folder
        (tree / SOURCES).write_text(yaml.safe_dump({"labels": {"files": entries}}))
        with (tree / "list.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["model", "dataset", "path", "bytes", "sha256"])
            for (model, dataset), one in self.files.items():
                digest = hashlib.sha256(one).hexdigest()
                writer.writerow([model, dataset, path_of(model, dataset), len(one), digest])


@pytest.fixture(scope="module")
def server():
    with serving() as running:
        yield running


@pytest.fixture(scope="module")
def study(tmp_path_factory, server):
    """A study whose tables are made. Not to be changed."""
    folder = tmp_path_factory.mktemp("published") / "tree"
    config = CONFIG.format(address=server.address)
    study = Published(server, Workflow.fresh(folder, config, known(*MODELS)))
    study.publish()
    study.workflow.run(*TABLES)
    return study


@pytest.fixture
def changed(study, tmp_path):
    """A copy of the study without results, to be changed and published anew."""
    found = Published(study.server, study.workflow.copy_to(tmp_path / "tree"))
    for file in (found.workflow.results / "downloads").rglob("*.np*"):
        file.unlink()
    yield found
    study.publish()


def test_all_files_are_downloaded_and_evaluated_by_the_true_classes(study):
    workflow = study.workflow
    paths = [request.path for request in study.server.requests]
    assert sorted(paths) == sorted(study.server.files)
    assert "at/model_results/net%7Ctwo/%20predictions_new.npz" in paths
    correct = workflow.table("published/accuracies/new").set_index("model")["n_correct"]
    for model in MODELS:
        assert correct[model] == (LOGITS[model, "new"].argmax(axis=1) == TRUTH["new"]).sum()
    table = workflow.table("published/tables/both/probability").set_index("model")
    assert table.loc["one", "accuracy_replication"] == correct["one"] / 200
    assert workflow.plan(*TABLES).jobs == {}
    assert workflow.plan(*TABLES, "--config", "mirror=/elsewhere").jobs == {}
    prefetched = [line for line in workflow.run("prefetch", "-n").splitlines() if "Nothing" in line]
    assert prefetched


def test_a_mirror_has_the_published_paths(changed, tmp_path):
    for name in ("old", "new"):
        (tmp_path / f"{name}_labels.npy").write_bytes(npy(TRUTH[name]))
    for key, content in changed.files.items():
        file = tmp_path / path_of(*key)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    before = len(changed.server.requests)
    changed.workflow.run("prefetch", "--config", f"mirror={tmp_path}")
    assert len(changed.server.requests) == before
    file = changed.workflow.results / "downloads/list/old/two.npz"
    assert file.read_bytes() == changed.files["two", "old"]


def test_a_changed_file_repeats_what_is_made_from_it(changed):
    changed.workflow.run("prefetch")
    changed.files["two", "new"] = as_published("new", logits_of("new"))
    changed.publish()
    output = changed.workflow.run(*TABLES, fails=True)
    assert "downloads/list/new/two.npz: has sha256" in output
    assert "Delete it" in output
    (changed.workflow.results / "downloads/list/new/two.npz").unlink()
    jobs = changed.workflow.plan("predictions", *TABLES).jobs
    assert jobs.pop("download_file") == jobs.pop("predictions") == 1
    assert jobs == {"match_predictions": 1, "tabulate_runs": 1, "count_correct": 1}
