"""The numbers of Recht et al. (2019), arXiv 1902.10811, from the predictions they published.

The printed values are in studies/recht-published.csv, and compared in test_replication_page.py;
these are further ones, from the released data.
"""

import pandas as pd
from test_pages import words_of

from matcheval.analyses import shared_errors
from matcheval.analyses.difficulty import Difficulties, fitted_difficulty
from matcheval.datasets.suites import Pair
from matcheval.predictions.correctness import dataset_accuracies, dataset_correctness
from matcheval.replication.fits import fit_replication
from matcheval.replication.tables import tabulate_replication
from matcheval.statistics.lines import Scale
from published import DATA, needs_data, results, study, timm
from studies import changed

pytestmark = needs_data


def fits_of(study):
    """The settings of a study's fits."""
    return study.analyses["replication"].settings


def test_one_model_more_in_the_fit_of_cifar():
    cifar = study("recht-cifar10")
    with_alexnet = changed(fits_of(cifar), fit_without=(), resamples=10)
    row = fit_replication(results(cifar, "v4"), Scale.LINEAR, with_alexnet).row
    assert round(row["slope"], 3) == 1.617


def test_all_models_of_imagenet():
    """Of 67 models another linear fit, and a better probit fit (appendix C.2).

    By section 5.3, with difficulties N(0, 1) of the original, the replication is harder and its
    difficulties are more spread.
    """
    imagenet = study("recht-imagenet")
    settings = changed(fits_of(imagenet), fit_without=(), resamples=10)
    table = results(imagenet, "matched-frequency")
    fits = {s: fit_replication(table, s, settings).row for s in Scale}
    linear, probit = fits[Scale.LINEAR], fits[Scale.PROBIT]
    assert (round(linear["slope"], 3), round(linear["offset"], 2)) == (0.968, -9.46)
    assert probit["r_squared"] > 0.998 > 0.992 > linear["r_squared"]
    found = fitted_difficulty(probit["slope"], probit["offset"], Difficulties(0, 1))
    assert (round(found.mu, 4), round(found.sigma, 4)) == (0.4693, 1.0976)


def test_errors_are_shared():
    imagenet = study("recht-imagenet")
    known = dataset_correctness(imagenet.datasets["MatchedFrequency"], list(imagenet.models))
    found = shared_errors.tabulate(known, "MatchedFrequency")[["jaccard", "jaccard_by_chance"]]
    mean, chance = (f"{value:.2f}" for value in found.mean())
    said = f"mean is {mean} over {len(known.models)} models on ImageNetV2 MatchedFrequency, by"
    assert f"{said} chance {chance}." in words_of("analyses.md")


def test_a_table_of_1556_accuracies():
    """timm's table: all accuracies are whole counts, and the probit slope depends less on range."""
    table = pd.read_csv(DATA / "timm_results.csv")
    models = [f"{name}-{size}" for name, size in zip(table.model, table.img_size, strict=True)]
    sets = (dataset_accuracies(timm(*of), models) for of in (("val", 50_000), ("v2", 10_000)))
    replication = tabulate_replication(*sets, Pair("timm", "val", "v2"))
    assert len(replication) == 1556
    assert replication.accuracy_replication_low.notna().all()
    settings = changed(fits_of(study("recht-imagenet")), fit_without=(), resamples=10)
    slopes = {scale: [] for scale in Scale}
    for low, high in ((0.75, 0.8), (0.8, 0.85), (0.85, 1)):
        of_range = changed(settings, fit_range=(low, high))
        for scale in Scale:
            row = fit_replication(replication, scale, of_range).row
            assert row["n_models"] + len(row["left_out"].split()) == 1556
            slopes[scale].append(row["slope"])
    assert [round(slope, 2) for slope in slopes[Scale.LINEAR]] == [1.22, 1.28, 1.46]
    assert [round(slope, 2) for slope in slopes[Scale.PROBIT]] == [0.99, 0.98, 1.05]
    spread = {scale: max(of) - min(of) for scale, of in slopes.items()}
    assert spread[Scale.PROBIT] < 0.08 < 0.2 < spread[Scale.LINEAR]
