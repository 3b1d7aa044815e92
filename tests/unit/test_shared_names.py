"""Studies with the same results folder must mean the same by a name, or are refused."""

from pathlib import Path

import pytest

from matcheval.errors import InputError
from matcheval.study.stored import check_shared_names, meanings, record_shared_names
from studies import ROOT, configuration, load


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Make a study with `results` in the test's folder, and changes to the default one."""
    monkeypatch.chdir(tmp_path)
    models = (ROOT / "studies" / "digits-models.csv").read_text(encoding="utf-8")

    def make(name, *, catalogue=lambda text: text, **changes):
        Path(f"{name}.csv").write_text(catalogue(models), encoding="utf-8")
        own = {"study": name, "models": f"{name}.csv"}
        return load(configuration("digits") | own | changes)

    return make


DIGITS = configuration("digits")
OTHER_PART = {"digits-known": {"kind": "digits", "part": "train"}}
BF16 = {"inference": {**DIGITS["inference"], "precision": "bf16"}}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"datasets": DIGITS["datasets"] | OTHER_PART},
         "dataset 'digits-known' differs from that of study 'one', .* part is \"train\" here and "
         '"known" there'),
        ({"catalogue": lambda text: text.replace("none,cosine,30,", "none,cosine,31,", 1)},
         r"model 'linear-ce' differs from that of study 'one', .* recipe.epochs is 31 here and 30"),
        (BF16, "model '.*' differs from that of study 'one', .* inference.precision is "
         '"bf16" here and "fp32" there'),
    ],
)  # fmt: skip
def test_another_meaning_is_refused(study, changes, message):
    record_shared_names(study("one"))
    check_shared_names(study("two"))
    check_shared_names(study("one", **changes))
    with pytest.raises(InputError, match=message) as caught:
        check_shared_names(study("two", **changes))
    assert "delete results/studies/one.json" in str(caught.value)
    Path("results/studies/one.json").unlink()
    check_shared_names(study("two", **changes))


@pytest.mark.slow
def test_studies_of_this_repository_can_share_a_results_folder():
    """But those without a catalogue, that need further files, or other sizes of the same sets."""
    found: dict[tuple[str, str], tuple[str, object]] = {}
    names = [path.stem for path in sorted((ROOT / "studies").glob("*.yaml"))]
    for name in ["digits", *names]:
        file = ROOT / ("config.yaml" if name == "digits" else f"studies/{name}.yaml")
        left_out = name in ("small-warehouse", "cifar10-warehouse-224") or name.startswith("recht-")
        if left_out or "\nmodels:" not in file.read_text(encoding="utf-8"):
            continue
        for category, of_names in meanings(load(configuration(name))).items():
            for one, meaning in of_names.items():
                first, known = found.setdefault((category, one), (name, meaning))
                assert meaning == known, f"{category} '{one}' of {name} and of {first}"
    assert len({first for first, _ in found.values()}) > 6
