"""Configuration: completed from the defaults, and refused with one clear error before any job."""

import json
import os
from pathlib import Path

import pytest
import yaml

from matcheval.datasets import KIND_VERSIONS, KINDS
from matcheval.datasets.specs import SAMPLED_KIND, SUFFIXES
from matcheval.errors import InputError, unknown_name_error
from matcheval.inference import OUTPUTS
from matcheval.io.yaml_files import read_yaml
from matcheval.protocol.criteria import EPSILON, N_SEEDS, Criterion
from matcheval.study.checks import check_own_images
from matcheval.study.configuration import check_config, complete_config
from matcheval.study.loading import load_study

ROOT = Path(__file__).parents[2]
DEFAULTS = ROOT / "config.yaml"
SCHEMA = ROOT / "rules" / "schemas" / "config.schema.json"


def load(**given):
    return load_study(given, defaults_file=DEFAULTS, schema_file=SCHEMA)


def own_study(tmp_path, models="name,kind\nm.v1,predictions\nn,predictions\n", **further):
    """A study of imported predictions, its files in place."""
    (tmp_path / "models.csv").write_text(models)
    for dataset in ("old", "new"):
        for model in ("m.v1", "n"):
            (tmp_path / dataset).mkdir(exist_ok=True)
            (tmp_path / dataset / f"{model}.csv").touch()
    return {
        "study": "mine",
        "models": str(tmp_path / "models.csv"),
        "datasets": {
            name: {"kind": "predictions", "files": f"{tmp_path}/{name}/{{model}}.csv"}
            for name in ("old", "new")
        },
        "pairs": {"both": {"original": "old", "replication": "new"}},
    } | further


class TestDefaultStudy:
    def test_is_digits(self):
        study = load()
        assert study.name == "digits"
        assert len(study.models) >= 16
        assert study.criteria == (Criterion.LABEL_PROBABILITY, Criterion.PROBABILITY)
        assert study.epsilon == 0.005
        assert study.seeds == tuple(range(10))

    def test_values_from_the_command_line_change_it(self):
        study = load(matching={"epsilon": 0.02}, figures={"formats": ["png"]})
        assert (study.name, study.epsilon, study.formats) == ("digits", 0.02, ("png",))
        assert study.seeds == tuple(range(10))

    def test_numbers_that_come_as_text(self):
        """From the command line, or from YAML, which takes 1e-3 for text."""
        study = load(matching={"epsilon": "1e-3", "seeds": "3"})
        assert (study.epsilon, study.seeds) == (0.001, (0, 1, 2))
        study = load(replication={"top": ["1", "5"]}, inference={"outputs": ["top"]})
        assert study.replication.top == (1, 5)

    def test_truth_values_that_come_as_text(self):
        assert load(training={"channels_last": "true"}).training["channels_last"] is True
        with pytest.raises(InputError, match=r"'training\.compile': 'perhaps' is not"):
            load(training={"compile": "perhaps"})

    def test_the_library_and_the_command_line_have_the_same_defaults(self):
        matching = yaml.safe_load(DEFAULTS.read_text())["matching"]
        assert (matching["epsilon"], matching["seeds"]) == (EPSILON, N_SEEDS)

    def test_every_key_is_documented_in_the_file(self):
        """The defaults are whole: what the schema knows, the default study shows."""
        schema = json.loads(SCHEMA.read_text())
        config = yaml.safe_load(DEFAULTS.read_text())
        assert set(config) == set(schema["properties"])
        for section in ("matching", "inference", "figures", "training", "replication", "followups"):
            assert set(config[section]) == set(schema["properties"][section]["properties"])


class TestOwnStudy:
    def test_takes_the_settings_but_not_the_contents_of_the_default(self, tmp_path):
        study = load(**own_study(tmp_path))
        assert list(study.datasets) == ["old", "new"]
        assert list(study.pairs) == ["both"]
        assert study.epsilon == 0.005
        assert study.reliability_models == ()

    def test_files_of_predictions(self, tmp_path):
        study = load(**own_study(tmp_path))
        assert study.predictions_of_pair("both", ["m.v1"]) == {
            "original": [f"{tmp_path}/old/m.v1.csv"],
            "replication": [f"{tmp_path}/new/m.v1.csv"],
        }

    def test_batches_in_catalogue_order(self, tmp_path):
        config = own_study(tmp_path, matching={"models_per_job": 1})
        assert load(**config).batches == {"000": ["m.v1"], "001": ["n"]}

    def test_own_files_are_told_apart_by_size_and_time(self, tmp_path):
        study = load(**own_study(tmp_path))
        before = study.own_files_state("both", ["n"])
        os.utime(tmp_path / "new" / "n.csv", (1, 1))
        assert study.own_files_state("both", ["n"]) != before
        assert load().own_files_state("new-writers", ["linear-ce"]) == []

    def test_training_is_needed_for_images_only(self, tmp_path):
        catalogue = (ROOT / "studies" / "digits-models.csv").read_text()
        config = own_study(tmp_path, models=catalogue)
        for dataset in ("old", "new"):
            for row in catalogue.splitlines()[1:]:
                (tmp_path / dataset / f"{row.split(',')[0]}.csv").touch()
        assert load(**config).training == {}

    def test_how_to_train_is_inherited_and_what_on_is_not(self, tmp_path):
        config = own_study(tmp_path)
        config["datasets"] |= {"d": {"kind": "digits", "part": "train"}}
        config["training"] = {"train": "d", "validation": "d", "threads": 2}
        training = load(**config).training
        assert (training["train"], training["threads"], training["device"]) == ("d", 2, "cpu")
        del config["training"]["validation"]
        with pytest.raises(InputError, match="'training': validation missing"):
            load(**config)

    def test_needs_what_a_study_is_of(self):
        with pytest.raises(InputError, match="models and datasets and pairs missing"):
            load(study="other")

    def test_needs_a_name(self, tmp_path):
        config = own_study(tmp_path)
        del config["study"]
        with pytest.raises(InputError, match=r"'study': .* its own datasets and pairs but no name"):
            load(**config)


BAD = [
    ({"matching": {"epsilom": 0.1}}, "'matching': unknown key 'epsilom'. Did you mean 'epsilon'?"),
    ({"inferense": {}}, "unknown key 'inferense'. Did you mean 'inference'?"),
    ({"matching": {"epsilon": 0}}, "'matching.epsilon': 0 must be above 0"),
    ({"matching": {"epsilon": -0.005}}, "'matching.epsilon': -0.005 must be above 0"),
    ({"matching": {"epsilon": 1.5}}, "matching.epsilon"),
    ({"matching": {"epsilon": float("nan")}}, "epsilon is nan"),
    ({"matching": {"epsilon": "small"}}, "'small' is not of type 'number'"),
    ({"matching": {"epsilon": True}}, "matching.epsilon"),
    ({"matching": {"seeds": 0}}, "'matching.seeds': 0 must be at least 1"),
    ({"matching": {"criteria": ["label"]}}, "'label' is none of label_probability, probability"),
    ({"figures": {"reliability_models": ["nope"]}}, "unknown model 'nope'. Known: "),
    ({"save_pairs": ["nope"]}, "'save_pairs': unknown model 'nope'"),
    ({"models": "missing.csv"}, "missing.csv: no such model catalogue"),
    ({"inference": {"device": "gpu"}}, "'gpu' is none of cpu, cuda, mps, auto"),
    ({"training": {"train": "nope"}}, "'training.train': unknown dataset 'nope'"),
    ({"replication": {"confidence": 1}}, "replication.confidence"),
    ({"replication": {"scales": ["logit"]}}, "'logit' is none of linear, probit"),
    ({"replication": {"extremes": "drop"}}, "'drop' is none of leave_out, clip"),
    ({"replication": {"fit_without": ["nope"]}}, "'replication.fit_without': unknown model 'nope'"),
    ({"replication": {"range_without": ["nope"]}}, "'replication.range_without': unknown model"),
    ({"replication": {"top": [1, 5]}}, "which 1 class is kept. Put 'top' among inference.outputs"),
    ({"replication": {"published": "gone.csv"}}, "gone.csv: no such file"),
    ({"followups": {"without": ["nope"]}}, "'followups.without': unknown model 'nope'"),
    ({"followups": {"revisions": {"r": ["nope"]}}}, "'followups.revisions': unknown dataset"),
    ({"study": "predictions"}, "'study': 'predictions' is a name of the results folder itself"),
]


@pytest.mark.parametrize(("given", "message"), BAD)
def test_bad_values_in_the_default_study(given, message):
    config = yaml.safe_load(DEFAULTS.read_text()) | {
        "models": str(ROOT / "studies/digits-models.csv")
    }
    merged = {
        k: (v | given[k] if isinstance(v, dict) and k in given else given.get(k, v))
        for k, v in config.items()
    }
    with pytest.raises(InputError) as caught:
        load(**(merged | {k: v for k, v in given.items() if k not in merged}))
    assert message in str(caught.value)


def test_all_violations_are_told_at_once():
    with pytest.raises(InputError) as caught:
        load(matching={"epsilon": 0, "seeds": 0})
    assert "matching.epsilon" in str(caught.value)
    assert "matching.seeds" in str(caught.value)


class TestBadOwnStudy:
    def refuse(self, config, message):
        with pytest.raises(InputError) as caught:
            load(**config)
        assert message in str(caught.value)

    def test_missing_prediction_file(self, tmp_path):
        config = own_study(tmp_path)
        (tmp_path / "new" / "n.csv").unlink()
        self.refuse(config, f"no predictions of model 'n' at {tmp_path}/new/n.csv")

    def test_unknown_dataset_in_a_pair(self, tmp_path):
        pairs = {"both": {"original": "old", "replication": "newer"}}
        self.refuse(
            own_study(tmp_path, pairs=pairs), "'pairs.both.replication': unknown dataset 'newer'"
        )

    def test_a_set_against_itself(self, tmp_path):
        pairs = {"both": {"original": "old", "replication": "old"}}
        self.refuse(own_study(tmp_path, pairs=pairs), "'old' is compared with itself")

    def test_a_source_outside_the_pair(self, tmp_path):
        pairs = {"both": {"original": "old", "replication": "new", "source": "x"}}
        self.refuse(
            own_study(tmp_path, pairs=pairs), "'pairs.both.source': unknown set of the pair 'x'"
        )

    def test_unknown_kind_of_dataset(self, tmp_path):
        datasets = {"old": {"kind": "photos"}, "new": {"kind": "digits", "part": "known"}}
        self.refuse(own_study(tmp_path, datasets=datasets), "'photos' is none of digits, cifar10")

    def test_unknown_option_of_a_dataset(self, tmp_path):
        config = own_study(tmp_path)
        config["datasets"]["old"]["part"] = "known"
        self.refuse(config, "unknown key 'part'")

    def test_unknown_suffix_of_prediction_files(self, tmp_path):
        config = own_study(tmp_path)
        config["datasets"]["old"]["files"] = "old/{model}.tsv"
        self.refuse(config, "'datasets.old.files': '.tsv' is no kind of prediction file")

    def test_predictions_need_a_place_for_the_model(self, tmp_path):
        config = own_study(tmp_path)
        config["datasets"]["old"]["files"] = "old.csv"
        self.refuse(config, "datasets.old.files")

    def test_a_model_known_by_predictions_only_cannot_be_run(self, tmp_path):
        config = own_study(tmp_path)
        config["datasets"]["new"] = {"kind": "digits", "part": "known"}
        self.refuse(config, "model 'm.v1' is of kind 'predictions' and cannot be run on it")

    def test_labels_of_published_results(self, tmp_path):
        config = own_study(tmp_path)
        labels = {"kind": "labels", "files": f"{tmp_path}/new/{{model}}.json", "classes": 10}
        config["datasets"]["new"] = labels | {"labels": "nope.npy"}
        self.refuse(config, "'datasets.new.labels': no labels at nope.npy")
        (tmp_path / "labels.npy").touch()
        config["datasets"]["new"] = labels | {"labels": f"{tmp_path}/labels.npy"}
        self.refuse(config, f"no predictions of model 'm.v1' at {tmp_path}/new/m.v1.json")
        config["datasets"]["new"] = labels | {"files": "{model}.txt", "labels": "l.npy"}
        self.refuse(config, "'.txt' is no kind of prediction file. Use .json, .npy")

    def test_published_results_of_other_label_spaces(self, tmp_path):
        config = own_study(tmp_path)
        (tmp_path / "all.npz").touch()
        archive = {"kind": "label_archive", "file": f"{tmp_path}/all.npz", "predictions": "p",
                   "labels": "y"}  # fmt: skip
        for name, classes in (("old", 10), ("new", 1000)):
            config["datasets"][name] = archive | {"classes": classes}
        self.refuse(config, "'pairs.both': 'old' has 10 classes, 'new' 1000")

    def test_published_counts_need_the_number_of_datapoints(self, tmp_path):
        config = own_study(tmp_path)
        config["datasets"]["new"] = {
            "kind": "accuracies", "file": "t.csv", "unit": "correct",
            "columns": {"model": "name", "top1": "k"},
        }  # fmt: skip
        self.refuse(config, "'datasets.new': n missing")

    def test_labels_alone_cannot_be_asked_for_pairs(self, tmp_path):
        config = own_study(tmp_path, save_pairs=["n"])
        (tmp_path / "all.npz").touch()
        for name in ("old", "new"):
            config["datasets"][name] = {
                "kind": "label_archive", "file": f"{tmp_path}/all.npz", "predictions": "p",
                "labels": "y",
            }  # fmt: skip
        self.refuse(config, "'save_pairs': no pair can be matched")
        study = load(**(config | {"save_pairs": []}))
        assert study.matched_pairs == []
        assert study.fitted_scales == []  # two models determine no line
        assert study.accuracy_files("old") == [f"{tmp_path}/all.npz"]
        with pytest.raises(InputError, match="pair 'both' cannot be matched"):
            study.predictions_of_pair("both", ["n"])

    @pytest.mark.parametrize(
        ("old", "message"),
        [
            ({"kind": "cifar10", "part": "tset"}, "'datasets.old.part': 'tset' is none of train"),
            ({"kind": "cifar10"}, "'datasets.old': part missing"),
            ({"kind": "cifar10_c", "corruption": "fog", "severity": 6}, "'6' is none of 1, 2"),
            ({"kind": "imagenetv2", "variant": "top-images", "n": 1}, "unknown key 'n'"),
            ({"kind": "arrays", "file": "a.npz", "labels": "l.npy", "classes": "cifar10"}, "old"),
            ({"kind": "parquet", "files": []}, "datasets.old.files"),
            ({"kind": "image_folder", "path": ".", "classes": ["a", "a"]}, "datasets.old.classes"),
            ({"kind": "image_folder", "path": ".", "unreadable": "ok"}, "'ok' is none of fail"),
        ],
    )
    def test_image_sets(self, tmp_path, old, message):
        config = own_study(tmp_path)
        config["datasets"]["old"] = old
        self.refuse(config, message)

    def test_images_of_ones_own_that_are_missing_are_all_named(self, tmp_path):
        """A study can be planned without them, and not run."""
        config = own_study(tmp_path, models=(ROOT / "studies" / "digits-models.csv").read_text())
        config["training"] = {"train": "old", "validation": "new"}
        config["datasets"] = {
            "old": {"kind": "parquet", "files": ["a", "b"], "classes": "cifar10"},
            "new": {"kind": "image_folder", "path": "c", "classes": "cifar10"},
        }
        study = load(**config)
        with pytest.raises(InputError) as refused:
            check_own_images(study)
        for name, path in (("old.files", "a"), ("old.files", "b"), ("new.path", "c")):
            assert f"'datasets.{name}': no such file or folder: {path}" in str(refused.value)

    @pytest.mark.parametrize(
        ("other", "message"),
        [
            ({"kind": "digits", "part": "known"}, "'old' has 10 classes"),
            (
                {"kind": "image_folder", "path": ".", "classes": list("abcdefghij")},
                "different classes",
            ),
            ({"kind": "image_folder", "path": ".", "classes": ["a", "b"]}, "'new' 2"),
        ],
    )
    def test_sets_of_a_pair_have_one_label_space(self, tmp_path, other, message):
        config = own_study(tmp_path)
        config["datasets"] = {"old": {"kind": "cinic10", "part": "test"}, "new": other}
        if other["kind"] == "digits":
            message = "different classes: 'airplane'"
        self.refuse(config, message)

    def test_training_and_test_set_have_one_label_space(self, tmp_path):
        catalogue = (ROOT / "studies" / "digits-models.csv").read_text()
        config = own_study(tmp_path, models=catalogue)
        config["datasets"] = {
            "old": {"kind": "cifar10", "part": "test"},
            "new": {"kind": "cifar10_1", "version": "v6"},
            "digits": {"kind": "digits", "part": "train"},
        }
        config["training"] = {"train": "digits", "validation": "digits"}
        self.refuse(config, "'training.train': 'new' has, against 'digits', different classes")

    def test_names_are_fit_for_files(self, tmp_path):
        self.refuse(own_study(tmp_path, study="a/b"), "'study'")


HEADER = "name,kind\n"
BAD_CATALOGUES = {
    HEADER: "the catalogue has no models",
    HEADER + "m,predictions\nm,predictions\n": "line 3: model 'm' is named twice",
    HEADER + "m,predictions\nM,predictions\n": "line 3: model 'M' is named twice",
    "name;kind\nm;predictions\n": "no column name and kind in the header ['name;kind']",
    HEADER + "m,pretrained\n": "'kind': 'pretrained' is no kind of model",
    HEADER + "a b,predictions\n": "'name': 'a b' cannot be a name",
    HEADER + "m.logits,predictions\n": "'m.logits' cannot be a name",
    HEADER + ",predictions\n": "'' cannot be a name",
    HEADER + "m\n": "not as many cells as the header",
    HEADER + "m,predictions,7\n": "not as many cells as the header",
    "name\nm\n": "no column kind in the header ['name']",
    "name,kind,loss\nm,predictions,focal\n": "'m' is known by its predictions only, yet loss is",
    "name,kind,loss\nm,trained,focal\n": "('m')",
}


@pytest.mark.parametrize(("text", "message"), BAD_CATALOGUES.items())
def test_bad_catalogues(tmp_path, text, message):
    with pytest.raises(InputError) as caught:
        load(**own_study(tmp_path, models=text))
    assert message in str(caught.value)
    assert "models.csv" in str(caught.value)


class TestYaml:
    def test_broken(self, tmp_path):
        (tmp_path / "c.yaml").write_text("a: [1\n")
        with pytest.raises(InputError, match=r"c\.yaml: not readable as YAML"):
            read_yaml(tmp_path / "c.yaml")

    def test_no_mapping(self, tmp_path):
        (tmp_path / "c.yaml").write_text("- a\n")
        with pytest.raises(InputError, match="is not a mapping"):
            read_yaml(tmp_path / "c.yaml")

    def test_missing(self, tmp_path):
        with pytest.raises(InputError, match="no such file"):
            complete_config({}, tmp_path / "c.yaml")


def test_the_default_study_fits_the_schema():
    check_config(yaml.safe_load(DEFAULTS.read_text()), SCHEMA)


def test_the_schema_knows_the_librarys_kinds_and_outputs():
    properties = json.loads(SCHEMA.read_text())["properties"]
    kinds = properties["datasets"]["additionalProperties"]["properties"]["kind"]["enum"]
    assert set(kinds) == {*KINDS, *SUFFIXES, SAMPLED_KIND}
    assert set(KIND_VERSIONS) == set(KINDS)
    outputs = properties["inference"]["properties"]["outputs"]["items"]["enum"]
    assert {"predictions", *outputs} == set(OUTPUTS)


def test_what_was_probably_meant_is_told():
    names = [f"model-{i:03d}" for i in range(300)] + ["resnet18.a1_in1k"]
    error = unknown_name_error("model", "resnet18", names, file="study.yaml", field="save_pairs")
    assert str(error) == (
        "study.yaml: 'save_pairs': unknown model 'resnet18'. Did you mean 'resnet18.a1_in1k'?"
    )
    many = unknown_name_error("model", "vgg", names, file="study.yaml", field="save_pairs")
    assert "There are 301, for example model-000, model-001, model-002" in str(many)
    assert "Known: a, b" in str(unknown_name_error("model", "c", ["a", "b"], file="f", field="g"))
