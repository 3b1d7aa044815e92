"""The replication study as an analysis: accuracies of all models, ranks, fits and figures."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from matcheval.datasets.kinds import DatasetSpec
from matcheval.datasets.suites import Pair
from matcheval.errors import configuration_error
from matcheval.figures.style import save_figure
from matcheval.inference import OUTPUT_SUFFIXES
from matcheval.io.tables import read_parquet, write_table
from matcheval.predictions.correctness import ACCURACIES, dataset_accuracies, dataset_correctness
from matcheval.replication import tables
from matcheval.replication.figures import plot_replication
from matcheval.replication.fits import ReplicationSettings, fit_replication
from matcheval.report.sections import Section
from matcheval.statistics.lines import MIN_MODELS, Scale
from matcheval.study.analysis import Analysis
from matcheval.study.rules import Artifact, Wildcards, call
from matcheval.study.study import Study


def count_correct(
    *, dataset: DatasetSpec, models: Sequence[str], results: Sequence[str],
    top_k_files: Sequence[str], accuracies: Path,
) -> None:  # fmt: skip
    """Write the counts of correct predictions of each model on one dataset."""
    files = results if dataset.has_probabilities else ()
    table = dataset_accuracies(dataset, models, files, top_k_files)
    write_table(table, accuracies)
    logging.info("%s: %d models, %d accuracies", dataset.name, len(models), table.num_rows)


def write_results(
    *, original: Path, replication: Path, pair: Pair, top: int, confidence: float,
    models: Sequence[str], sets: Sequence[DatasetSpec], files: Sequence[Sequence[str]],
    outputs: Sequence[Path],
) -> None:  # fmt: skip
    """Write the table of accuracies, intervals, gaps and ranks of all models on one pair."""
    images = [
        dataset_correctness(spec, models, paths) for spec, paths in zip(sets, files, strict=True)
    ]
    accuracies = ACCURACIES.read(original), ACCURACIES.read(replication)
    results = tables.tabulate_replication(*accuracies, pair, top, confidence, images)
    tables.RESULTS.write(results, outputs)
    logging.info("%d models", len(results))


def write_fits(
    *, results: Path, settings: ReplicationSettings, families: Mapping[str, str],
    outputs: Sequence[Path], region: Path,
) -> None:  # fmt: skip
    """Fit a line to the accuracies on one pair on each scale; write fits and confidence regions."""
    table = tables.RESULTS.read(results).to_pandas()
    fits = [fit_replication(table, scale, settings, families) for scale in settings.scales]
    tables.FITS.write(pd.DataFrame([fit.row for fit in fits]), outputs)
    write_table(tables.REGION.from_frame(pd.concat([fit.region for fit in fits])), region)
    for fit in fits:
        logging.info("%s fit of %d models", fit.row["scale"], fit.row["n_models"])


def draw_fit(
    *, results: Path, fits: Path, region: Path, scale: Scale, outputs: Sequence[Path]
) -> None:
    """Save a plot of the models, the fitted line and its confidence region on one scale."""
    lines = tables.FITS.read(fits).to_pandas().set_index("scale", drop=False)
    models = tables.RESULTS.read(results).to_pandas()
    regions = tables.REGION.read(region).to_pandas()
    save_figure(plot_replication(models, lines.loc[scale.value], regions, scale), *outputs)


def write_changes(
    *, results: Sequence[Path], selection_frequencies: Mapping[str, Path],
    range_without: Sequence[str], outputs: Sequence[Path],
) -> None:  # fmt: skip
    """Write the average change in accuracy and the rank correlations of every pair of a study."""
    frequencies = {
        name: float(read_parquet(path)["frequency"].to_numpy().mean())
        for name, path in selection_frequencies.items()
    }
    changes = tables.summarize_changes(
        [tables.RESULTS.read(path).to_pandas() for path in results],
        range_without=range_without, selection_frequencies=frequencies,
    )  # fmt: skip
    tables.CHANGES.write(changes, outputs)
    logging.info("%d tables", len(changes))


_CAPTIONS = {
    "results": """Accuracy of every model on both sets of **{{ snakemake.wildcards.pair }}** (top
{{ snakemake.wildcards.top }}), with Clopper-Pearson intervals. The gap is original minus new
accuracy, Δ rank is original minus new rank: negative if the model lost places. Models with equal
accuracies are ranked by name. The random part of the gap bounds what is due to the choice of the
new images; the rest is due to adaptivity and to differences between the distributions, which a
single new set cannot separate.""",
    "fits": """Least squares fits of new against original accuracy over the models of **{{
snakemake.wildcards.pair }}** (top {{ snakemake.wildcards.top }}): linear in percent, with the
offset in percentage points, and probit (both accuracies transformed by the inverse of the normal
distribution function). Intervals are bootstrap percentiles over resampled models, rounded
outward.""",
    "changes": """For every pair of the study: the mean over all models of new minus original
accuracy, in percentage points, and the agreement between the two rankings of the models.""",
    "plot": """Accuracy on the replication against accuracy on the original of **{{
snakemake.wildcards.pair }}**, one point per model with Clopper-Pearson intervals in both
directions. On the dashed line both accuracies are equal; a model's vertical distance below it is
its accuracy loss. The other line is the least squares fit on {{ snakemake.wildcards.scale }}
axes, shaded with its bootstrap confidence region (models resampled; pointwise). With a slope
above 1, the advantage of one model over another is larger on the replication than on the
original. Hollow points are not included in the fit.""",
}


class Replication(Analysis):
    """Compares accuracies of all models on the original and the replication of every pair."""

    name: ClassVar[str] = "replication"
    Settings: ClassVar[type[ReplicationSettings]] = ReplicationSettings
    settings: ReplicationSettings

    def __init__(self, settings: ReplicationSettings, study: Study) -> None:
        super().__init__(settings, study)
        self.wildcards = {"pair": study.pairs, "top": settings.top}
        stem, labels = "{pair}/top{top}", {"pair": "{pair}", "top": "{top}"}
        self.result = self.table(stem, _CAPTIONS["results"], {**labels, "what": "results"})
        self.fits = self.table(f"{stem}.fits", _CAPTIONS["fits"], {**labels, "what": "fits"})
        self.region = Artifact(f"{study.folder}/replication/{stem}.region", (".parquet",))
        axes = {**labels, "what": "{scale} axes"}
        self.plot = self.figure("{pair}/replication/top{top}-{scale}", _CAPTIONS["plot"], axes)
        all_pairs = {"pair": "all", "top": "all", "what": "average changes"}
        self.changes = self.table("changes", _CAPTIONS["changes"], all_pairs)

    def check(self) -> None:
        """Refuse top-k accuracies of a k above the number of top classes that inference keeps."""
        most, kept = max(self.settings.top), self.study.inference.n_top_classes
        has_images = any(self.study.datasets[name].has_images for name in self.study.paired)
        if has_images and most > kept:
            raise configuration_error(
                f"top-{most} accuracies of models that are run here, of which {kept} "
                f"class{'es are' if kept > 1 else ' is'} kept", field=self.field("top"),
                remedy=f"Put 'top' among inference.outputs, with inference.top of {most} or more",
            )  # fmt: skip

    @property
    def fitted_scales(self) -> list[str]:
        """Names of the scales on which enough models are left to fit a line."""
        return [
            scale.value
            for scale in self.settings.scales
            if len(set(self.study.models) - set(self.settings.left_out(scale))) >= MIN_MODELS
        ]

    @property
    def targets(self) -> list[str]:
        """Paths of the tables of all pairs, and of fits and figures if there are enough models."""
        artifacts = [self.result, *([self.fits, self.region] if self.fitted_scales else [])]
        return [
            *(file for artifact in artifacts for file in artifact.expand(**self.wildcards)),
            *self.plot.expand(**self.wildcards, scale=self.fitted_scales),
            *(self.changes.expand() if self.study.pairs else []),
        ]

    @property
    def report_section(self) -> Section:
        """Its section of the report, with the accuracies and fits of all pairs as data."""
        if not self.study.pairs:
            return self.section()
        shown = {"results": self.result, "fits": self.fits, "regions": self.region}
        data = {
            name: [f for f in artifact.expand(**self.wildcards) if f.endswith(".parquet")]
            for name, artifact in shown.items()
        }
        if not self.fitted_scales:
            data |= {"fits": [], "regions": []}
        matched = any(
            all(self.study.datasets[d].has_probabilities for d in pair.datasets.values())
            for pair in self.study.pairs.values()
        )
        return self.section(data, {"is_headline": not matched})

    # --- inputs and arguments of jobs

    @property
    def _top_k_suffixes(self) -> list[str]:
        """Suffixes of the files of top classes; none if only top-1 accuracies are counted."""
        return [OUTPUT_SUFFIXES["top"]] if max(self.settings.top) > 1 else []

    @property
    def counted_suffixes(self) -> list[str]:
        """Suffixes of the prediction files in which correct predictions are counted."""
        return [".parquet", *self._top_k_suffixes]

    def count_arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the arguments of `count_correct`."""
        study, dataset = self.study, wildcards.dataset
        suffixes = self._top_k_suffixes if study.datasets[dataset].has_images else []
        stems = [study.predictions_stem(dataset, model) for model in study.models]
        return {
            "dataset": asdict(study.datasets[dataset]),
            "models": list(study.models),
            "results": study.probability_files(dataset, study.models),
            "top_k_files": [stem + suffix for stem in stems for suffix in suffixes],
        }

    def sets_of_same_images(self, pair: str) -> tuple[str, ...]:
        """Return both sets of a paired pair if correctness is known per image; otherwise ()."""
        names = tuple(self.study.pairs[pair].datasets.values())
        has_correctness = (self.study.datasets[d].kind_class.has_correctness for d in names)
        return names if self.study.pairs[pair].paired and all(has_correctness) else ()

    def pair_arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the arguments of `write_results`."""
        study, same = self.study, self.sets_of_same_images(wildcards.pair)
        return {
            "pair": vars(study.pairs[wildcards.pair]), "confidence": study.confidence,
            "models": list(study.models) if same else [],
            "sets": [asdict(study.datasets[name]) for name in same],
            "files": [study.probability_files(name, study.models) for name in same],
        }  # fmt: skip

    @property
    def fit_arguments(self) -> dict[str, Any]:
        """The arguments of `write_fits`."""
        fitted = {"scales", "resamples", "seed", "extremes", "fit_without", "fit_range"}
        return {
            "settings": self.settings.model_dump(mode="json", include=fitted),
            "families": {name: model.family for name, model in self.study.models.items()},
        }

    def figure_arguments(self, wildcards: Wildcards) -> dict[str, Any]:
        """Return the calls of `draw_fit` that draw all figures of a pair."""
        shown = {"results": self.result, "fits": self.fits, "region": self.region}
        calls = []
        for top, scale in product(self.settings.top, self.fitted_scales):
            fitted: dict[str, Any] = {"pair": wildcards.pair, "top": top}
            files = {name: artifact.file(".parquet", **fitted) for name, artifact in shown.items()}
            outputs = self.plot.expand(**fitted, scale=scale)
            calls.append(call(draw_fit, **files, scale=scale, outputs=outputs))
        return {"calls": calls}

    @property
    def selection_frequencies(self) -> dict[str, str]:
        """Files with images' selection frequencies, by dataset, of sets in pairs sampled here."""
        built = self.study.built_datasets
        files = {d: built[d].selection_frequencies for d in built if d in self.study.paired}
        return {dataset: file for dataset, file in files.items() if file}
