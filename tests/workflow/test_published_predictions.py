"""Published predictions in the real workflow: downloaded from a list, true classes elsewhere."""

import hashlib
from urllib.parse import quote

import numpy as np
import pytest
from engine import Workflow, known

from image_sets import npy, npz, sources_yaml
from servers import serving

pytestmark = pytest.mark.slow

SIZES = {"old": 300, "new": 200}
MODELS = ("one", "two", "three")
RNG = np.random.default_rng(0)
TRUTH = {name: RNG.integers(0, 4, n) for name, n in SIZES.items()}
LABELS = {f"{name}_labels.npy": npy(truth) for name, truth in TRUTH.items()}
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


def predicted(dataset):
    """Logits of a network that is right most of the time, and the classes that it predicts."""
    noise = RNG.normal(size=(SIZES[dataset], 4)).astype(np.float32)
    logits = noise + 2 * np.eye(4, dtype=np.float32)[TRUTH[dataset]]
    return {"preds": logits, "labels": logits.argmax(axis=1)}


PREDICTED = {(model, dataset): predicted(dataset) for model in MODELS for dataset in SIZES}
# In the published format, in which `labels` are the predicted classes.
FILES = {key: npz(**arrays) for key, arrays in PREDICTED.items()}


def path_of(model, dataset):
    """Where a file is published; some names begin with a space, as the real ones do."""
    return f"model_results/net|{model}/{' ' * (model == 'two')}predictions_{dataset}.npz"


def publish(server, folder, files):
    """Serve the files, and write their list and that of the true classes."""
    served = {f"at/{quote(path_of(*key))}": content for key, content in files.items()}
    server.files = served | LABELS
    (folder / SOURCES).write_text(sources_yaml(LABELS, server.address))
    rows = ["model,dataset,path,bytes,sha256"]
    for (model, dataset), one in files.items():
        digest = hashlib.sha256(one).hexdigest()
        rows.append(f"{model},{dataset},{path_of(model, dataset)},{len(one)},{digest}")
    (folder / "list.csv").write_text("\n".join(rows) + "\n")


@pytest.fixture(scope="module")
def server():
    with serving() as running:
        yield running


@pytest.fixture(scope="module")
def workflow(tmp_path_factory, server):
    """A study whose tables are made. Not to be changed."""
    config = CONFIG.format(address=server.address)
    workflow = Workflow.fresh(tmp_path_factory.mktemp("published") / "w", config, known(*MODELS))
    publish(server, workflow.folder, FILES)
    workflow.run(*TABLES)
    return workflow


def test_all_files_are_downloaded_and_evaluated_by_the_true_classes(workflow, server):
    paths = [request.path for request in server.requests]
    assert sorted(paths) == sorted(server.files)
    assert "at/model_results/net%7Ctwo/%20predictions_new.npz" in paths
    correct = workflow.table("published/accuracies/new").set_index("model")["n_correct"]
    for model in MODELS:
        assert correct[model] == (PREDICTED[model, "new"]["labels"] == TRUTH["new"]).sum()
    table = workflow.table("published/tables/both/probability").set_index("model")
    assert table.loc["one", "accuracy_replication"] == correct["one"] / 200
    assert workflow.plan(*TABLES).jobs == {}
    assert "Nothing" in workflow.run("prefetch", "-n")


def test_a_changed_file_repeats_what_is_made_of_it(copy, server):
    file = copy.results / "downloads/list/new/two.npz"
    publish(server, copy.folder, FILES | {("two", "new"): npz(**predicted("new"))})
    output = copy.run(*TABLES, fails=True)
    assert "downloads/list/new/two.npz: has sha256" in output
    assert "Delete it" in output
    file.unlink()
    jobs = copy.plan("predictions", *TABLES).jobs
    assert jobs.pop("download_file") == jobs.pop("predictions") == 1
    assert jobs == {"match_predictions": 1, "tabulate_runs": 1, "count_correct": 1}
