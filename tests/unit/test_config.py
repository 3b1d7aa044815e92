"""Configuration: completed from the defaults, and refused with one clear error before any job."""

import json
import os
import re
from pathlib import Path
from types import SimpleNamespace

import make_settings
import pytest
import yaml
from jsonschema import Draft202012Validator

from matcheval.datasets.kinds import KINDS
from matcheval.errors import InputError, unknown_name_error
from matcheval.inference import OUTPUTS, PRECISIONS
from matcheval.inference.settings import InferenceSettings
from matcheval.io.yaml_files import read_yaml
from matcheval.names import is_name
from matcheval.protocol.criteria import Criterion
from matcheval.protocol.settings import MatchingSettings
from matcheval.registry import ANALYSES
from matcheval.replication.settings import ReplicationSettings
from matcheval.settings import read_settings
from matcheval.settings_errors import models_in
from matcheval.study.checks import check_custom_images
from matcheval.study.configuration import CoreConfiguration, complete_configuration, load_study
from matcheval.study.schema import values_text
from matcheval.training.settings import TrainingSettings

ROOT = Path(__file__).parents[2]
DEFAULTS = ROOT / "config.yaml"
SCHEMA = ROOT / "rules" / "schemas" / "config.schema.json"


def load(**given):
    return load_study(given, default_study=DEFAULTS, analyses=ANALYSES)


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
        matching = study.analyses["matching"]
        assert matching.settings.criteria == (Criterion.LABEL_PROBABILITY, Criterion.PROBABILITY)
        assert (matching.settings.epsilon, matching.settings.seeds) == (0.005, 10)

    def test_values_from_the_command_line_change_it(self):
        study = load(matching={"epsilon": 0.02}, figures={"formats": ["png"]})
        settings = study.analyses["matching"].settings
        assert (study.name, settings.epsilon, study.formats) == ("digits", 0.02, ("png",))
        assert settings.seeds == 10

    def test_numbers_that_come_as_text(self):
        """From the command line, or from YAML, which takes 1e-3 for text."""
        settings = load(matching={"epsilon": "1e-3", "seeds": "3"}).analyses["matching"].settings
        assert (settings.epsilon, settings.seeds) == (0.001, 3)
        study = load(replication={"top": ["1", "5"]}, inference={"outputs": ["top"]})
        assert study.analyses["replication"].settings.top == (1, 5)

    def test_truth_values_that_come_as_text(self):
        assert load(training={"channels_last": "true"}).training.channels_last is True
        with pytest.raises(InputError, match=r"'training\.compile': 'perhaps' is neither"):
            load(training={"compile": "perhaps"})

    def test_the_file_shows_the_default_values(self):
        """What config.yaml has of a block is all of it and the default, but for the digits' own."""
        config = yaml.safe_load(DEFAULTS.read_text())
        own = {"train", "validation", "reliability_models"}
        # In comments, so that a variant of the study can give either form.
        commented = {"matching": {"criteria", "epsilon", "matchings"}}
        for block, model in {
            "training": TrainingSettings,
            "inference": InferenceSettings,
            "matching": MatchingSettings,
            "replication": ReplicationSettings,
        }.items():
            assert set(config[block]) == set(model.model_fields) - commented.get(block, set())
            shown = model.model_validate(config[block])
            for key, field in model.model_fields.items():
                if key not in own:
                    assert getattr(shown, key) == field.get_default(), f"{block}.{key}"
        assert config["confidence"] == CoreConfiguration.model_fields["confidence"].default


class TestOwnStudy:
    def test_takes_the_settings_but_not_the_contents_of_the_default(self, tmp_path):
        study = load(**own_study(tmp_path))
        assert list(study.datasets) == ["old", "new"]
        assert list(study.pairs) == ["both"]
        settings = study.analyses["matching"].settings
        assert (settings.epsilon, settings.reliability_models) == (0.005, ())

    def test_files_of_predictions(self, tmp_path):
        study = load(**own_study(tmp_path))
        one = SimpleNamespace(pair="both", model="m.v1")
        matching = study.analyses["matching"]
        old, new = f"{tmp_path}/old/m.v1.csv", f"{tmp_path}/new/m.v1.csv"
        assert matching.runs.inputs(one) == [old, new]
        given = matching.runs.parameters(one)
        assert (given["original"], given["replication"]) == ([old], [new])

    def test_batches_in_catalogue_order(self, tmp_path):
        config = own_study(tmp_path, matching={"models_per_job": 1})
        assert load(**config).analyses["matching"].runs.batches == {"000": ["m.v1"], "001": ["n"]}

    def test_own_files_are_told_apart_by_size_and_time(self, tmp_path):
        study = load(**own_study(tmp_path))
        matching, one = study.analyses["matching"], SimpleNamespace(pair="both", model="n")
        before = matching.runs.custom_files_state(one)
        os.utime(tmp_path / "new" / "n.csv", (1, 1))
        assert matching.runs.custom_files_state(one) != before
        images = SimpleNamespace(pair="new-writers", model="linear-ce")
        assert load().analyses["matching"].runs.custom_files_state(images) == []

    def test_training_is_needed_for_images_only(self, tmp_path):
        catalogue = (ROOT / "studies" / "digits-models.csv").read_text()
        config = own_study(tmp_path, models=catalogue)
        for dataset in ("old", "new"):
            for row in catalogue.splitlines()[1:]:
                (tmp_path / dataset / f"{row.split(',')[0]}.csv").touch()
        assert load(**config).training is None

    def test_how_to_train_is_inherited_and_what_on_is_not(self, tmp_path):
        config = own_study(tmp_path)
        config["datasets"] |= {"d": {"kind": "digits", "part": "train"}}
        config["training"] = {"train": "d", "validation": "d", "threads": 2}
        training = load(**config).training
        assert (training.train, training.threads, training.device) == (("d",), 2, "cpu")
        del config["training"]["validation"]
        with pytest.raises(InputError, match=r"'training': .*validation missing"):
            load(**config)

    def test_needs_what_a_study_is_of(self):
        with pytest.raises(InputError, match="datasets missing"):
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
    ({"matching": {"epsilon": float("nan")}}, "'matching.epsilon': nan is not a finite number"),
    ({"matching": {"epsilon": "small"}}, "'matching.epsilon': 'small' is not a number"),
    ({"matching": {"epsilon": True}}, "matching.epsilon"),
    ({"matching": {"seeds": 0}}, "'matching.seeds': 0 must be at least 1"),
    ({"matching": {"criteria": ["label"]}}, "'label' is none of label_probability, probability"),
    ({"matching": {"reliability_models": ["nope"]}}, "unknown model 'nope'. Known: "),
    ({"matching": {"save_pairs": ["nope"]}}, "'matching.save_pairs': unknown model 'nope'"),
    ({"models": "missing.csv"}, "missing.csv: no such model catalogue"),
    ({"inference": {"device": "gpu"}}, "'gpu' is none of cpu, cuda, mps, auto"),
    ({"training": {"train": "nope"}}, "'training.train': unknown dataset 'nope'"),
    ({"confidence": 1}, "'confidence': 1 must be below 1"),
    ({"replication": {"scales": ["logit"]}}, "'logit' is none of linear, probit"),
    ({"replication": {"extremes": "drop"}}, "'drop' is none of leave_out, clip"),
    ({"replication": {"fit_without": ["nope"]}}, "'replication.fit_without': unknown model 'nope'"),
    ({"replication": {"range_without": ["nope"]}}, "'replication.range_without': unknown model"),
    ({"replication": {"top": [1, 5]}}, "which 1 class is kept. Put 'top' among inference.outputs"),
    ({"published_values": {"file": "gone.csv"}}, "gone.csv: no such file"),
    ({"groups": {"without": ["nope"]}}, "'groups.without': unknown model 'nope'"),
    ({"revisions": {"series": {"r": ["nope"]}}}, "'revisions.series.r': unknown dataset"),
    ({"hard_images": {"share": float("inf")}}, "'hard_images.share': inf is not a finite number"),
    ({"training": {"save_minutes": float("nan")}}, "'training.save_minutes': nan is not a finite"),
    ({"inference": {"precision": "tf32"}}, "device cpu has no tf32. Use fp32"),
    ({"replication": {"fit_range": [0.9, 0.1]}}, "'replication.fit_range': 0.9 is not below 0.1"),
    ({"replication": {"top": [1, 1]}}, "'replication.top': '1' occurs twice"),
    ({"matching": {"seeds": 2.5}}, "'matching.seeds': '2.5' is not a whole number"),
    ({"matching": {"seeds": None}}, "'matching.seeds': is empty"),
    (
        {"hard_images": {"compare_size": 5}},
        "'hard_images': 'compare_size' is no more: leave it out",
    ),
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

    def test_files_that_an_analysis_reads(self, tmp_path):
        file = tmp_path / "f.csv"
        file.write_text("index,writer\n0,a\n")
        for given, column in (
            ({"groups": {"datasets": {"old": str(file)}}}, "group"),
            ({"selection_frequency": {"datasets": {"old": str(file)}}}, "n_annotations"),
            ({"human_accuracy": {"pairs": {"both": str(file)}}}, "participant"),
        ):
            message = f"{file}: no column {column}"
            self.refuse(own_study(tmp_path, **given), message)
        config = own_study(tmp_path)
        config["pairs"]["both"]["groups"] = {"old": str(file), "new": str(file)}
        self.refuse(config, f"{file}: no column group in the header ['index', 'writer']")

    def test_results_that_are_a_file(self, tmp_path):
        config = own_study(tmp_path)
        self.refuse(config | {"results": config["models"]}, "is not a folder. Name a folder")

    def test_files_without_the_model(self, tmp_path):
        config = own_study(tmp_path)
        config["datasets"]["old"]["files"] = "old/m.csv"
        self.refuse(config, "'datasets.old.files': 'old/m.csv' has no '{model}'")

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
        config["datasets"]["old"]["files"] = "old/{model}.xlsx"
        self.refuse(config, "'datasets.old.files': '.xlsx' is not a format of prediction files")

    @pytest.mark.parametrize("value", [True, 2, "one"])
    def test_first_label(self, tmp_path, value):
        config = own_study(tmp_path)
        config["datasets"]["old"]["first_label"] = value
        self.refuse(config, "'datasets.old.first_label'")

    def test_a_pair_of_the_same_files(self, tmp_path):
        config = own_study(tmp_path)
        config["datasets"]["new"] = config["datasets"]["old"]
        self.refuse(config, "'old' is compared with itself: 'new' has the same files")

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
        self.refuse(config, "'.txt' is not a format of prediction files. Use .json, .npy")

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
        config = own_study(tmp_path, matching={"save_pairs": ["n"]})
        (tmp_path / "all.npz").touch()
        for name in ("old", "new"):
            config["datasets"][name] = {
                "kind": "label_archive", "file": f"{tmp_path}/all.npz", "predictions": "p",
                "labels": "y",
            }  # fmt: skip
        self.refuse(config, "'matching.save_pairs': no pair can be matched")
        study = load(**(config | {"matching": {}}))
        matching = study.analyses["matching"]
        assert matching.pairs == []
        assert study.analyses["replication"].fitted_scales == []  # two models determine no line
        assert study.results_files("old") == [f"{tmp_path}/all.npz"]
        with pytest.raises(InputError, match="pair 'both' cannot be matched"):
            matching.runs.inputs(SimpleNamespace(pair="both", model="n"))

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
            "old": {"kind": "parquet", "files": ["a", "b"], "classes": "cifar10", "resize": 32},
            "new": {"kind": "image_folder", "path": "c", "classes": "cifar10", "resize": 32},
        }
        study = load(**config)
        with pytest.raises(InputError) as refused:
            check_custom_images(study)
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
        with pytest.raises(InputError, match=r"c\.yaml, line 2, column 1: not readable as YAML"):
            read_yaml(tmp_path / "c.yaml")

    def test_no_mapping(self, tmp_path):
        (tmp_path / "c.yaml").write_text("- a\n")
        with pytest.raises(InputError, match="is not a mapping"):
            read_yaml(tmp_path / "c.yaml")

    def test_missing(self, tmp_path):
        with pytest.raises(InputError, match="no such file"):
            complete_configuration({}, tmp_path / "c.yaml")


class TestGenerated:
    def test_schema_and_page_are_those_of_the_settings(self):
        """Where this fails: `make settings`, and look at what changed."""
        for file, text in make_settings.generated().items():
            assert file.read_text(encoding="utf-8") == text, file

    @pytest.mark.parametrize("study", [DEFAULTS, *(ROOT / "studies").glob("*.yaml")], ids=str)
    def test_studies_fit_the_schema(self, study):
        schema = json.loads(SCHEMA.read_text())
        Draft202012Validator(schema).validate(yaml.safe_load(study.read_text()))

    def test_the_schema_refuses_what_the_settings_refuse(self):
        validator = Draft202012Validator(json.loads(SCHEMA.read_text()))
        config = yaml.safe_load(DEFAULTS.read_text())
        for wrong in ({"matching": {"epsilon": 0}}, {"pairs": {"p": {}}}, {"followups": {}}):
            assert not validator.is_valid(config | wrong)

    def test_inference_has_the_librarys_outputs_and_precisions(self):
        properties = json.loads(SCHEMA.read_text())["$defs"]["InferenceSettings"]["properties"]
        assert {"predictions", *properties["outputs"]["items"]["enum"]} == set(OUTPUTS)
        assert properties["precision"]["enum"] == list(PRECISIONS)

    def test_every_setting_is_explained(self):
        lines = (ROOT / "docs" / "settings.md").read_text().splitlines()
        unexplained = [line for line in lines if line.startswith("| `") and line.endswith("| |")]
        assert not unexplained


class TestNames:
    @pytest.mark.parametrize("name", ["a b", "-a", "a/b", "a\n", "ä", "n" * 101, ""])
    def test_refused(self, tmp_path, name):
        config = own_study(tmp_path)
        config["pairs"] = {name: config["pairs"]["both"]}
        with pytest.raises(InputError, match="pairs"):
            load(**config)
        assert not is_name(name)

    def test_that_differ_only_in_case_are_refused(self, tmp_path):
        config = own_study(tmp_path)
        config["datasets"]["OLD"] = config["datasets"]["old"]
        with pytest.raises(InputError, match="'old' and 'OLD' differ only in upper and lower case"):
            load(**config)

    def test_of_folders_that_studies_share_are_refused(self, tmp_path):
        with pytest.raises(InputError, match="'Logs' is a name of the results folder itself"):
            load(**own_study(tmp_path, study="Logs"))


def number_fields(model):
    """Numbers of a settings class and of the classes of its blocks: class, and key."""
    for name, field in model.model_fields.items():
        for inner in models_in(field.annotation):
            yield from number_fields(inner)
        if not models_in(field.annotation) and "number" in values_text(field):
            yield model, name


NUMBERS = {
    (model, key)
    for settings in (
        CoreConfiguration,
        *KINDS.values(),
        *(each.Settings for each in ANALYSES),
        *(kind for each in ANALYSES for kind in each.dataset_kinds.values()),
    )
    for model, key in number_fields(settings)
}


PHOTOS = {"kind": "image_folder", "path": "photos", "classes": [*"0123456789"]}


@pytest.mark.parametrize(
    ("datasets", "more", "message"),
    [
        ({}, {"training": {"train": "photos", "validation": "digits-validation"}},
         "'datasets.photos': the images of 'photos' are files"),
        ({"x": {"kind": "restyled", "of": "photos", "style": "inverted"}}, {}, "'datasets.x.of'"),
        ({"x": {"kind": "corrupted", "of": "photos", "corruption": "fog", "severity": 1, "size": 32,
                "restore": True}}, {}, "'datasets.x.of'"),
        ({"digits-known": {**PHOTOS, "resize": 8}, "digits-train": {**PHOTOS, "resize": 16}}, {},
         "'datasets.digits-known': has images of 8 × 8 pixels, 3 channel(s), values up to 255, and "
         "models are trained on 'digits-train', of 16 × 16"),
        ({"digits-known": {**PHOTOS, "resize": 8}}, {},
         "of 8 × 8 pixels, 1 channel(s), values up to 16"),
        ({}, {"near_duplicates": {"searches": [{"of": "digits-known", "among": "photos"}]}},
         "'near_duplicates.searches.among': the images of 'photos' are files, which may differ in "
         "size. Add 'compare_size: 256'"),
        ({}, {"sampling": {"pools": {"new-writers": {
            "candidates": "digits-new-writers", "original": "digits-known", "against": ["photos"],
            "simulate": {}}}}}, "'datasets.matched-frequency': the images of 'photos'"),
        ({"digits-known": PHOTOS}, {}, "'sampling.pools.new-writers.simulate': the images of"),
    ],
)  # fmt: skip
def test_image_files_where_pixels_of_one_size_are_needed(datasets, more, message):
    config = yaml.safe_load((ROOT / "studies/digits-sampling.yaml").read_text()) | more
    config["datasets"] |= {"photos": PHOTOS, **datasets}
    with pytest.raises(InputError, match=re.escape(message)):
        load(**config)


def test_networks_that_need_larger_images(tmp_path):
    text = (ROOT / "studies/digits-models.csv").read_text().replace(",linear,0,0,", ",vgg,8,11,", 1)
    config = yaml.safe_load(DEFAULTS.read_text()) | {"models": str(tmp_path / "m.csv")}
    (tmp_path / "m.csv").write_text(text)
    with pytest.raises(InputError, match=r"digits-train': the architecture of .*linear.* 8 × 8"):
        load(**config)


def test_class_folders_of_images(tmp_path):
    """Named before the first job; a study can be planned without them."""
    config = yaml.safe_load(DEFAULTS.read_text())
    photos = {**PHOTOS, "path": str(tmp_path), "resize": 8}
    config["datasets"] = dict.fromkeys(config["datasets"], photos)
    study = load(**config)
    with pytest.raises(InputError, match="has no class folders with files"):
        check_custom_images(study)
    for name in ("0", "1", "empty", ".hidden"):
        (tmp_path / name).mkdir()
    for name in ("0/a.png", "1/b.png", ".hidden/c.png"):
        (tmp_path / name).touch()
    check_custom_images(study)
    (tmp_path / "empty" / "a.png").touch()
    with pytest.raises(
        InputError, match=r"datasets.digits-train.*'classes': 'empty' is not a class"
    ):
        check_custom_images(study)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_no_number_may_be_infinite_or_nan(value):
    assert len(NUMBERS) > 40
    for model, key in NUMBERS:
        for given in (value, [value], {"x": value}):
            with pytest.raises(InputError) as refused:
                read_settings(model, {key: given})
            if f"'{key}" in str(refused.value) and "not a" not in str(refused.value):
                raise AssertionError(f"{model.__name__}.{key}: {refused.value}")


def test_what_was_probably_meant_is_told():
    names = [f"model-{i:03d}" for i in range(300)] + ["resnet18.a1_in1k"]
    error = unknown_name_error("model", "resnet18", names, file="study.yaml", field="save_pairs")
    assert str(error) == (
        "study.yaml: 'save_pairs': unknown model 'resnet18'. Did you mean 'resnet18.a1_in1k'?"
    )
    many = unknown_name_error("model", "vgg", names, file="study.yaml", field="save_pairs")
    assert "There are 301, for example model-000, model-001, model-002" in str(many)
    assert "Known: a, b" in str(unknown_name_error("model", "c", ["a", "b"], file="f", field="g"))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kind": "labels", "labels": "x.npy", "reversed": "q"}, "'datasets.old': files missing"),
        ({"kind": "labels", "labels": "x.npy", "reversed": "q"}, "'datasets.old.reversed': 'q' is"),
        ({"kind": ["digits"]}, "datasets.old"),
    ],
)
def test_errors_name_the_key_inside_a_dataset(tmp_path, given, message):
    """Also where a key is called like the kind."""
    config = own_study(tmp_path)
    config["datasets"]["old"] = given
    with pytest.raises(InputError) as caught:
        load(**config)
    assert message in str(caught.value)


def test_large_bounds_are_written_out():
    with pytest.raises(InputError, match="4294967296 must be at most 4294967295"):
        load(replication={"seed": 2**32})


def test_an_empty_optional_key_counts_as_left_out():
    given = {"kind": "cifar10", "part": "test", "per_class": None}
    options = read_settings(KINDS["cifar10"], given).options
    assert options == {"part": "test"}
