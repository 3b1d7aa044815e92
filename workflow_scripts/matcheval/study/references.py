"""References: names in settings that are those of the study's models, datasets, pairs or suites.

A setting says in its type what it refers to (`settings.Ref`) and what is needed of it, so that
all references of a configuration are checked here.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel

from matcheval.errors import check_known, configuration_error
from matcheval.settings import Need, Ref
from matcheval.study.contents import StudyContents

_Reference = tuple[Ref, str, str]  # with the name, and the key that names it


def references(settings: BaseModel, field: str) -> Iterator[_Reference]:
    """Return all references in settings, whose own key is `field`."""
    for key, info in type(settings).model_fields.items():
        kind: Any = info.annotation
        for metadata in info.metadata:
            kind = Annotated[kind, metadata]
        yield from _references(kind, getattr(settings, key), f"{field}.{key}")


def _references(kind: Any, value: Any, field: str) -> Iterator[_Reference]:
    """Return the references in a value of a type."""
    if get_origin(kind) is Annotated:
        inner, *metadata = get_args(kind)
        yield from ((one, value, field) for one in metadata if isinstance(one, Ref))
        yield from _references(inner, value, field)
    elif isinstance(value, BaseModel):
        yield from references(value, field)
    elif isinstance(value, Mapping) and get_args(kind):
        of_key, of_value = get_args(kind)
        for key, inside in value.items():
            yield from _references(of_key, key, field)
            yield from _references(of_value, inside, f"{field}.{key}")
    elif isinstance(value, tuple) and get_origin(kind) is tuple:
        for inside in value:
            yield from _references(get_args(kind)[0], inside, field)
    elif value is not None:  # of a union, the alternatives
        for alternative in get_args(kind):
            yield from _references(alternative, value, field)


def check_names(study: StudyContents, settings: BaseModel, field: str) -> None:
    """Check that all that settings refer to is there."""
    known = {
        "model": study.models, "dataset": study.datasets, "pair": study.pairs,
        "suite": study.suites,
    }  # fmt: skip
    for ref, name, key in references(settings, field):
        check_known(ref.kind, [name], known[ref.kind], file="configuration", field=key)


def check_needs(study: StudyContents, settings: BaseModel, field: str) -> None:
    """Check that there is what is needed of datasets, once all analyses are known."""
    for ref, name, key in references(settings, field):
        if ref.needs is not None:
            names = study.pairs[name].datasets.values() if ref.kind == "pair" else [name]
            for dataset in names:
                check_need(study, dataset, ref.needs, key)


def check_need(study: StudyContents, dataset: str, need: Need, field: str) -> None:
    """Check that a dataset of the study has what is needed of it."""
    check_known("dataset", [dataset], study.datasets, file="configuration", field=field)
    spec, problem = study.datasets[dataset], ""
    if need is Need.IMAGES:
        problem = "" if spec.has_images else "has predictions only, no images"
    elif dataset not in study.evaluated:
        problem = "is in no pair and no suite, so that no model is run on it"
    elif need is Need.CORRECTNESS and not spec.kind_class.has_correctness:
        problem = "has accuracies only, not the correctness of each datapoint"
    elif need is Need.PROBABILITIES and not spec.has_probabilities:
        problem = "has no probabilities"
    if problem:
        raise configuration_error(f"'{dataset}' {problem}", field=field)
