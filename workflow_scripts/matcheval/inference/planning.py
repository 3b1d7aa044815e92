"""The weights and transforms of a study's models, determined before any job runs.

Imports no torch, and timm only for models whose description is not on file yet.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from matcheval.inference.settings import InferenceSettings
from matcheval.models.geometry import Geometry
from matcheval.models.published import Published
from matcheval.models.transforms import Transform


@dataclass(frozen=True)
class InferencePlan:
    """The weights that inference with a study's models needs, and which models run together."""

    settings: InferenceSettings
    published: Mapping[str, Published]

    @property
    def weights_urls(self) -> dict[str, str]:
        """Download address of each file of weights, by file name."""
        return {model.file_name: model.url for model in self.published.values()}

    def geometry(self, model: str) -> Geometry:
        """Return how a model's images are resized and cropped."""
        if model not in self.published:
            return Geometry()
        return Transform.from_json(self.published[model].transform).geometry

    def batches(self, models: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Group models into jobs: a model is run alone, or with others that share its transform."""
        by_geometry: dict[str, list[str]] = {}
        batches: dict[str, tuple[str, ...]] = {}
        size = self.settings.n_models_per_job
        for model in models:
            geometry = self.geometry(model).name
            if geometry == "none" or size == 1:
                batches[model] = (model,)
            else:
                by_geometry.setdefault(geometry, []).append(model)
        for geometry, names in by_geometry.items():
            for number, start in enumerate(range(0, len(names), size), 1):
                batches[f"{geometry}.batch-{number}"] = tuple(names[start : start + size])
        return batches
