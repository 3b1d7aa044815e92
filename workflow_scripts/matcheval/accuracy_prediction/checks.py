"""Checks of the settings of accuracy prediction against the study, before any job."""

from collections.abc import Collection
from typing import TYPE_CHECKING

from matcheval.accuracy_prediction.errors import ALL
from matcheval.accuracy_prediction.scores import ALL_SCORES
from matcheval.accuracy_prediction.scores.score import OUTPUTS_FOR, Need, Predicts
from matcheval.accuracy_prediction.settings import SuitePredictionSettings
from matcheval.datasets.suites import Member, check_subset
from matcheval.errors import InputError, check_known, unknown_name_error
from matcheval.study.checks import check_label_spaces

if TYPE_CHECKING:
    from matcheval.accuracy_prediction.analysis import AccuracyPrediction

MIN_MODELS = 3  # for agreement between models
_FILE = "configuration"


def check_settings(analysis: "AccuracyPrediction") -> None:
    """Check names of suites, sets, models, methods and groups, and that inputs are there."""
    study, settings = analysis.study, analysis.settings
    study.check_models(settings.without, analysis.field("without"))
    study.check_models(settings.single, analysis.field("single"))
    for name in settings.single:
        if name in settings.without:
            raise InputError(
                f"'{name}' is left out, too", file=_FILE, field=analysis.field("single"),
                remedy=f"Name it in one of 'single' and '{analysis.field('without')}'",
            )  # fmt: skip
    for name, members in settings.ensembles.items():
        field = analysis.field("ensembles")
        study.check_models(members, f"{field}.{name}")
        if name in study.models:
            raise InputError(f"'{name}' is a model", file=_FILE, field=field)
    _check_methods(analysis)
    if settings.suites:
        analysis.check_some_models()
    if settings.suites and not analysis.pool:
        raise InputError(
            "no model is left for means over models", file=_FILE, field=analysis.field("single"),
            remedy="Leave 'single' out to count all models",
        )  # fmt: skip
    for name, one in settings.suites.items():
        if name not in study.suites:
            raise unknown_name_error(
                "suite", name, study.suites, file=_FILE, field=analysis.field("suites")
            )
        _check_suite(analysis, name, one)
    if settings.suites:
        _check_inputs(analysis)


def _check_methods(analysis: "AccuracyPrediction") -> None:
    """Check the names of methods, and that those of reduced sets can be used on them."""
    settings, field = analysis.settings, analysis.field("view_methods")
    if settings.methods != "all":
        names = settings.methods
        check_known("method", names, ALL_SCORES, file=_FILE, field=analysis.field("methods"))
    check_known("method", settings.view_methods, ALL_SCORES, file=_FILE, field=field)
    chosen = [score.name for score in analysis.chosen]
    for name in settings.view_methods:
        if name not in chosen:
            raise InputError(
                f"'{name}' is not among the methods that are used", file=_FILE, field=field,
                remedy=f"Add it to {analysis.field('methods')}, or leave it out",
            )  # fmt: skip


def _check_inputs(analysis: "AccuracyPrediction") -> None:
    """Check that there is what ensembles need, and the methods that are asked for by name."""
    settings, study = analysis.settings, analysis.study
    used = {*analysis.evaluated, *(n for s in settings.suites for n in study.suites[s].datasets)}
    is_run = any(analysis.has_images(name) for name in used)
    if settings.ensembles and is_run and not analysis.keeps("logits"):
        raise InputError(
            "the probabilities of models are averaged, and are not on file", file=_FILE,
            field=analysis.field("ensembles"),
            remedy="Add logits to inference.outputs, or leave ensembles out",
        )  # fmt: skip
    if settings.methods == "all":
        return
    suites = settings.suites.values()
    remedies = {
        Need.REFERENCE: ""
        if any(one.reference for one in suites)
        else f"Name a 'reference' of a suite under {analysis.field('suites')}",
        Need.IMAGES: ""
        if any(one.rotation for one in suites)
        else f"Name sets as 'rotation' of a suite under {analysis.field('suites')}",
        Need.MODELS: "" if len(analysis.pool) >= MIN_MODELS else "Count more models",
    }
    for need, outputs in OUTPUTS_FOR.items():
        kept = analysis.keeps(*outputs) or not is_run
        remedies[need] = "" if kept else f"Add {' or '.join(outputs)} to inference.outputs"
    for score in analysis.chosen:
        for need in score.needs:
            if remedies.get(need):
                raise InputError(
                    f"'{score.name}' needs {need.value}", file=_FILE,
                    field=analysis.field("methods"), remedy=f"{remedies[need]}, or leave it out",
                )  # fmt: skip


def _check_suite(analysis: "AccuracyPrediction", name: str, one: SuitePredictionSettings) -> None:
    study, field = analysis.study, analysis.field("suites", name)
    analysis.check_has_correctness(one.base, f"{field}.base")
    members = {member.dataset: member for member in study.suites[name].members}
    for member in members.values():
        _check_member(analysis, name, one.base, member)
    if one.reference is not None:
        study.check_dataset(one.reference, f"{field}.reference", images=True)
    _check_calibrations(one, {member.group for member in members.values()}, field)
    rotation = list(members) if one.rotation == "all" else one.rotation
    for dataset in rotation:
        if dataset not in members:
            raise unknown_name_error("set", dataset, members, file=_FILE, field=f"{field}.rotation")
    for dataset in (*rotation, *([one.base] if rotation else [])):
        study.check_dataset(dataset, f"{field}.rotation", images=True)
    classes = study.labelled_like(one.base).settings.known_classes
    for embedding in one.embeddings:
        if classes is not None and embedding.class_name not in classes:
            raise unknown_name_error(
                "class", embedding.class_name, classes, file=_FILE, field=f"{field}.embeddings"
            )
    loo = analysis.settings.leave_one_out
    if not any(
        score.predicts is Predicts.ACCURACY or one.calibrations or (loo and score.direction)
        for score in analysis.chosen
    ):
        raise InputError(
            "nothing is predicted: all of the methods need a regression, and there is none",
            file=_FILE, field=field,
            remedy="Give calibrations, switch on leave_one_out, or add a method such as ac",
        )  # fmt: skip


def _check_member(analysis: "AccuracyPrediction", suite: str, base: str, member: Member) -> None:
    """Check one set of a suite, and which of its classes count."""
    study, dataset, field = analysis.study, member.dataset, f"suites.{suite}"
    analysis.check_has_correctness(dataset, field)
    check_label_spaces(study, analysis.field("suites", suite), base, dataset)
    for what in ("group", "subgroup"):
        if getattr(member, what) == ALL:
            raise InputError(
                f"the {what} of '{dataset}' is '{ALL}', which in tables means all sets",
                file=_FILE, field=field, remedy="Call it something else",
            )  # fmt: skip
    if member.all_labels:
        study.check_dataset(dataset, f"{field}: all_labels of '{dataset}'", images=True)
    if not member.counting:
        return
    known = study.datasets[dataset].settings.known_classes
    if known is not None:
        check_subset(suite, member, known)
    if analysis.has_images(dataset) and not analysis.keeps("logits"):
        raise InputError(
            f"'{dataset}' has a part of the classes: the probabilities of all are needed",
            file=_FILE, field=field, remedy="Add logits to inference.outputs",
        )  # fmt: skip
    names = [name for name, _ in member.groups] or sorted(set(member.classes))
    if len(names) == 1 and analysis.settings.restrict_argmax:
        raise InputError(
            f"'{dataset}' has one class, '{names[0]}', so that every prediction is right "
            "where only its classes can be predicted",
            file=_FILE, field=field,
            remedy=f"Set {analysis.field('restrict_argmax')} to false, or name more classes",
        )  # fmt: skip


def _check_calibrations(
    one: SuitePredictionSettings, groups: Collection[str], suite_field: str
) -> None:
    """Check that groups are known, and no set is predicted by the same regression twice."""
    predicted: dict[str, set[str]] = {}  # by the groups fitted on
    for number, calibration in enumerate(one.calibrations):
        field = f"{suite_field}.calibrations.{number}"
        for key in ("fit", "predict"):
            for group in getattr(calibration, key) or ():
                if group not in groups:
                    raise unknown_name_error(
                        "group", group, groups, file=_FILE, field=f"{field}.{key}"
                    )
        wanted = set(calibration.predict or groups) - set(calibration.fit)
        if not wanted:
            raise InputError(
                "all groups are fitted on, and none is left to predict", file=_FILE, field=field
            )
        before = predicted.setdefault("+".join(sorted(calibration.fit)), set())
        if before & wanted:
            raise InputError(
                f"group '{min(before & wanted)}' is predicted from the same groups twice",
                file=_FILE, field=field,
                remedy="Calibrations with the same 'fit' must have different groups as 'predict'",
            )  # fmt: skip
        before |= wanted
