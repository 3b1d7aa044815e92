"""The datasheet of a warehouse: questions of Gebru et al. (2021), answered from the manifest.

What only people know is marked, so that a page with such marks is not finished.
"""

from collections.abc import Iterator, Mapping

import pandas as pd

from matcheval.warehouse.manifest import DUPLICATE, KEPT, PENDING, REJECTED, UNSTATED
from matcheval.warehouse.settings import WarehouseSettings
from matcheval.warehouse.source_sets import SourceSet

OPEN = "**To be written by people:**"


def write_out_datasheet(
    settings: WarehouseSettings,
    sets: Mapping[str, SourceSet],
    images: pd.DataFrame,
    tables: Mapping[str, pd.DataFrame],
) -> str:
    """Write out the datasheet."""
    parts = (
        ("Motivation", _motivation()),
        ("Composition", _composition(settings, sets, images, tables)),
        ("Collection process", _collection(images, tables)),
        ("Preprocessing, cleaning, labelling", _cleaning(settings, images, tables)),
        ("Uses", _uses()),
        ("Distribution", _distribution(images)),
        ("Maintenance", _maintenance()),
    )
    lines = [
        f"# Datasheet: {settings.warehouse}", "",
        "Numbers are counted from the manifest, `images.parquet`. The questions are those of Gebru "
        f"et al. (2021), shortened. What is marked “{OPEN.strip('*')}” is missing; write the "
        "finished page to a file of your own, since this one is made again by every build.", "",
    ]  # fmt: skip
    for title, answers in parts:
        lines += [f"## {title}", ""]
        for question, answer in answers:
            lines += [f"**{question}** {answer}", ""]
    return "\n".join(lines)


_Answers = Iterator[tuple[str, str]]


def _motivation() -> _Answers:
    yield "For what purpose was it created?", f"{OPEN} task, and the gap that it fills."
    yield "Who created it, and who paid for it?", f"{OPEN} team, institution, funding."


def _composition(
    settings: WarehouseSettings,
    sets: Mapping[str, SourceSet],
    images: pd.DataFrame,
    tables: Mapping[str, pd.DataFrame],
) -> _Answers:
    kept = images[images["status"] == KEPT]
    sizes = tables["sets"]["n"]
    yield (
        "What are the instances?",
        f"{len(kept):,} images in {len(sets)} sets of {sizes.min():,} to {sizes.max():,} "
        f"(mean {sizes.mean():,.0f}), of {len(set(images['group']))} groups.",
    )
    counts = kept["class"].value_counts().reindex(list(settings.class_names), fill_value=0)
    listed = ", ".join(f"{name} {n:,}" for name, n in counts.items())
    yield "What labels do they have?", f"One of {len(counts)} classes: {listed}."
    absent = int((tables["sets"]["absent_classes"] != "").sum())
    yield (
        "Is it a sample of a larger set?",
        f"{OPEN} how many results of each query were taken, and which were not. {absent} of "
        f"{len(sets)} sets have no images of some class.",
    )
    yield "Is information missing?", _missing(kept)
    copies = tables["steps"].set_index("finding")["n"]
    yield (
        "Are there relations between instances, errors, noise or redundancies?",
        f"{copies['exact copies in a set']:,} exact and {copies['near copies in a set']:,} near "
        f"copies within sets were left out; {copies['also in an earlier set']:,} images are also "
        f"in another set. Reviewers rejected {copies['rejected by people']:,} images and "
        f"relabelled {copies['relabelled']:,} (`tables/noise.csv`); all other "
        "labels are those that images were collected for.",
    )
    leaks = [
        f"{copies[f'also in {name}']:,} images are also in `{name}`" for name in settings.against
    ]
    yield (
        "Are there recommended splits? Does it overlap with training data?",
        f"It is for testing. {'; '.join(leaks) or f'{OPEN} it was compared with no training set'}.",
    )
    unblurred = int(((kept["blurred"] == 0) & (kept["reviewers"] > 0)).sum())
    yield (
        "Does it contain data that is confidential, offensive, or identifies people?",
        f"{OPEN} who looked for faces, number plates and unsafe images, and how. Boxes were "
        f"blurred in {int((kept['blurred'] > 0).sum()):,} of {len(kept):,} images; {unblurred:,} "
        "reviewed images have no blurred box.",
    )


def _missing(kept: pd.DataFrame) -> str:
    parts = [
        f"{kept[column].isna().sum():,} images have no {name}"
        for column, name in (
            ("url", "address"), ("retrieved", "date"), ("query", "query"),
            ("colour_query", "colour that was asked for"),
        )
    ]  # fmt: skip
    return f"{'; '.join(parts)}."


def _collection(images: pd.DataFrame, tables: Mapping[str, pd.DataFrame]) -> _Answers:
    origins = "; ".join(
        f"{row['source'] or 'unnamed source'} ({row['style'] or 'no style'}) {row['n']:,}"
        for row in tables["origins"].to_dict("records")
    )
    yield "How was it acquired?", f"Kept images by source and style: {origins}."
    prompts = tables["prompts"]
    texts = ", ".join(f"“{text}”" for text in prompts["text"].head(20))
    yield "By what queries or prompts?", f"{texts}." if len(prompts) else f"{OPEN} the queries."
    dates = images["retrieved"].dropna()
    when = f"From {dates.min()} to {dates.max()}." if len(dates) else f"{OPEN} the dates."
    yield "Over what time?", when
    yield "Who collected it, and were they paid?", f"{OPEN} people, and their compensation."
    yield "Was there an ethical review? Did people consent?", f"{OPEN} review, notice, consent."


def _cleaning(
    settings: WarehouseSettings, images: pd.DataFrame, tables: Mapping[str, pd.DataFrame]
) -> _Answers:
    by_status = images["status"].value_counts()
    counts = ", ".join(
        f"{int(by_status.get(each, 0)):,} {each}" for each in (KEPT, PENDING, REJECTED, DUPLICATE)
    )
    fit = "resized to squares" if settings.export.fit == "squash" else "cropped to squares, resized"
    sides = " and ".join(f"{side} × {side}" for side in settings.export.sides)
    yield (
        "What was done to the data?",
        f"Of {len(images):,} files: {counts} (`tables/steps.md`). Kept images were converted to "
        f"RGB, {fit} (bicubic, antialiased), and exported with {sides} pixels. Near copies have "
        f"hashes that differ in at most {settings.duplicates.distance} of 64 bits.",
    )
    agreement = tables["agreement"].to_dict("records")
    told = "; ".join(
        f"{row['first']} and {row['second']}, {row['n']:,} images: {100 * row['agreement']:.1f} % "
        + ("(κ not defined)" if row["kappa"] is None else f"(κ = {row['kappa']:.2f})")
        for row in agreement
    )
    reviewed = int((images["reviewers"] > 0).sum())
    yield (
        "Who labelled it, and how well do they agree?",
        f"People decided on {reviewed:,} of {len(images):,} files. "
        + (f"Agreement: {told}." if told else f"{OPEN} no image has decisions of two reviewers."),
    )
    yield "Is the raw data kept?", f"{OPEN} where, and for how long."


def _uses() -> _Answers:
    yield "What has it been used for, and what else could it be?", f"{OPEN} uses."
    yield "What should it not be used for?", f"{OPEN} uses that it is not fit for, and why."


def _distribution(images: pd.DataFrame) -> _Answers:
    kept = images[images["status"] == KEPT]
    counts = ", ".join(f"{name} {n:,}" for name, n in kept["licence"].value_counts().items())
    unstated = int((kept["licence"] == UNSTATED).sum())
    yield (
        "Under which licences?",
        f"As stated by their sources: {counts} (`NOTICE.md`); {unstated:,} are not stated. {OPEN} "
        "whether these permit what you intend.",
    )
    yield "How, when and to whom will it be given?", f"{OPEN} address, date, conditions."


def _maintenance() -> _Answers:
    yield "Who maintains it, and how can they be reached?", f"{OPEN} contact."
    yield "Will it be corrected, and how are images taken out on request?", f"{OPEN} procedure."
