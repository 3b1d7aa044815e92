"""What version 0.2 had and this one has not, with what to do instead, for error messages."""

# Keys of study files; `*` is any place.
KEYS = {
    **dict.fromkeys(
        ("permutation_null", "target_orders", "maximum_matching"),
        "leave the block out; benchmarks/README.md says what this analysis showed on the digits",
    ),
    "downloads.least_rate": "leave it out, 1000 bytes per second are the least",
    "domain_generalization.group_seed": "leave it out, groups are drawn with seed 0",
    "*.resize_filter": "leave it out, images are resized by `bicubic`",
    "*.min_annotations": "leave it out, 10 are needed where there are annotations",
    "*.min_original": "leave it out, 20 annotated original images are needed",
    "*.top_keywords": "leave it out, the 50 most frequent keywords of a class count",
    "*.min_ssim": "leave it out, `max_distance` finds near duplicates",
    "*.neighbours": "leave it out, it belonged to `min_ssim`",
    "*.positive_rounds": "leave it out, every original image is shown once with its own class",
    "export.png": "leave it out; Pillow writes the images of images.npy: `Image.fromarray(array)`",
    "accuracy_prediction.view_methods": "leave it out, all 'methods' are scored on reduced sets",
    "accuracy_prediction.group_probability": (
        "leave it out, the probability of a group of classes is the largest of its classes'"
    ),
    "accuracy_prediction.test_size_accuracy": (
        "leave it out, the true accuracy on a reduced set is that of the datapoints drawn"
    ),
    "accuracy_prediction.published": (
        "leave it out; `published_values` compares errors with printed ones, of which "
        "studies/guillory-published.csv and sun-published.csv have all"
    ),
    "accuracy_prediction.matching": (
        "leave it out, gaps are matched and decomposed for pairs (`matching`) and suites "
        "(`severity`), not beside predictions"
    ),
}
# Flags whose old names are still read, by command.
RENAMED_FLAGS = {
    ("compare", "--criterion"): "--criteria",
    ("predict-accuracy", "--calibrate-on"): "--calibration",
}
# Commands and flags of `matched-eval`.
FLAGS = {
    "matched-eval completion": (
        "`shtab matcheval.cli.main.build_parser` prints the same, without names of files"
    ),
    "matched-eval compare --original FILE --replication FILE": (
        "`matched-eval compare FILE FILE`, the original first; `--source` names the set in which "
        "matches are sought, which otherwise is the larger one"
    ),
    "matched-eval init --original SET --replication SET": "`matched-eval init SET SET`",
    "matched-eval init --output FILE": "`--file FILE`",
    "matched-eval init --results, --train, --resize": (
        "leave it out, and edit `results`, `training` or `resize` in the study that is written"
    ),
    "matched-eval init --skip-missing": "remove the files of models that not both sets have",
    "matched-eval match --output FILE --pairs FILE": (
        "`--output DIR --pairs`, which writes runs.csv, runs.parquet and pairs.parquet to DIR; the "
        "larger set is the source, unless `--source` says otherwise"
    ),
    "matched-eval doctor --output, --file": (
        "in a clone, `make gpu-test` writes results/gpu-test.xml, a file to send"
    ),
    "matched-eval duplicates --output FILE": "`--file FILE`",
    "matched-eval warehouse plan --output FILE": "`--file FILE`",
    **{
        f"matched-eval replicate {step} --output FILE": "`--file FILE`"
        for step in ("simulate", "count", "allocate")
    },
    "matched-eval domainbed": (
        "`python -m domainbed.scripts.collect_results` of DomainBed prints the same tables"
    ),
    "matched-eval warehouse worklist --predictions FILES": (
        "leave it out, the sheets have all images of a class in the order of their files"
    ),
    "matched-eval duplicates --no-ssim": "leave it out, the similarity is always computed",
    "matched-eval duplicates --rows": (
        "leave it out, a sheet has ten rows; in studies, `near_duplicates.sheet` sets them"
    ),
    "matched-eval label-plan --images DIR": (
        "leave it out, there is no page for labelling: fill in worklist.csv"
    ),
    "matched-eval estimate-accuracy --second-labels FILE": (
        "leave it out; compare the labels of two annotators by a tool of your own"
    ),
    "matched-eval replicate simulate --positive-rounds": (
        "leave it out, every original image is shown once with its own class"
    ),
    "matched-eval replicate sample --strategy, --per-class, --threshold, --bins, --max-distance, "
    "--min-annotations, --min-original, --top-keywords, --min-ssim, --neighbours, "
    "--compare-size, --fill-upward, --class-threshold": (
        "write the settings to a YAML file, and give `--settings FILE.yaml`"
    ),
}
