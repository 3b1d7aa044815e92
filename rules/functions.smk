# Functions that rules use: the files that they read, their parameters, and their files in Snakemake's
# report.
import hashlib
import json


def dataset_files(datasets):
    """Return the files to read of datasets, `<results>/datasets/{dataset}/{file}`.

    For datasets whose images are made when they are read, these are `<study>/datasets/{batch}`, and
    what they are made from.
    """
    return list(dict.fromkeys(file for name in datasets for file in STUDY.dataset_inputs(name)))


def sources_of(datasets):
    """Return what datasets are built from: `<results>/downloads/{file}`, and other datasets."""
    return list(dict.fromkeys(file for name in datasets for file in STUDY.preparation_inputs(name)))


def descriptions(datasets):
    """Return the files that describe datasets: `<results>/datasets/{dataset}/dataset.json` ...

    The others are `datapoints.parquet`. For datasets whose images are made when they are read, the
    files are `<study>/datasets/{batch}`.
    """
    return [file for name in datasets for file in STUDY.description_inputs(name)]


def image_sets(datasets):
    """Return the files of datasets, `images.npy` as `ancient`: its digest counts, not its time.

    Snakemake compares the contents of small files, such as the description with the digest.
    """
    files = dataset_files(datasets)
    return [ancient(file) if Path(file).name == "images.npy" else file for file in files]


def training_sets(models):
    """Return the files of the sets that models are trained and validated on."""
    trained = [STUDY.trained[name] for name in models]
    return image_sets(name for model in trained for name in (*model.train, *model.validation))


def weights(models):
    """Return the files of models' weights: `<study>/checkpoints/{model}.safetensors` ...

    Published weights are in `<results>/weights`.
    """
    others = [name for name in models if not STUDY.runnable[name].source.own_weights]
    return list(dict.fromkeys(filter(None, map(STUDY.weights_file, others))))


def custom_files(models):
    """Return the user's weights and code of models, as `ancient`: a parameter has their state."""
    return ancient(COMMANDS.custom_weights(models) + COMMANDS.custom_code(models))


def file_state(files):
    """Return a function of wildcards: size and time of the user's files that a job reads.

    It is a parameter of rules, as files may be replaced by older ones, and Snakemake notices newer
    ones only. It compares no parameters that are functions of `input`, so `files` is a function of
    wildcards.
    """
    return lambda wildcards: STUDY.custom_files_state(files(wildcards))


def suite_files():
    """Return files that stand for the sets of suites, and stay when their images are deleted."""
    names = {name for sets in INFERENCE.suites.values() for name in sets} & STUDY.made
    suites = expand("<study>/suites/{suite}.json", suite=INFERENCE.checked_suites)
    return list(dict.fromkeys(suites + descriptions(sorted(names))))


def predictions(datasets, models=None, suffixes=(".parquet",)):
    """Return prediction files, `<study>/predictions/{dataset}/{model}{suffix}` or the user's.

    For a set that only suites have, it is the folder `<study>/predictions/{suite}/{model}`.
    """
    files = (STUDY.results_inputs(name, models, suffixes) for name in datasets)
    return list(dict.fromkeys(file for several in files for file in several))


def predictions_of_pair(pair, models):
    """Return predictions on both sets of a pair, and `<study>/classes/{pair}.txt` if it is needed."""
    STUDY.analyses["matching"].check_can_be_matched(pair)
    late = [pair] if pair in STUDY.pairs_compared_late else []
    classes = expand(f"{STUDY.folder}/classes/{{pair}}.txt", pair=late)
    return predictions(STUDY.pairs[pair].datasets.values(), models) + classes


def by_matching(path, **wildcards):
    """Expand a path for every matching of the study; wildcards without values stay in it."""
    return expand(
        path, matching=STUDY.analyses["matching"].matchings, allow_missing=True, **wildcards
    )


def outputs_on(suite, models):
    """Return all outputs of models on a suite, its base and its reference.

    They are what `predictions` returns, and descriptions of the sets whose labels are read.
    """
    return STUDY.analyses["accuracy_prediction"].inputs(suite, models)


def outputs_in_figures(wildcards):
    """Return the outputs of models that are drawn in figures of accuracy prediction."""
    prediction = STUDY.analyses["accuracy_prediction"]
    suites = prediction.suites_with_outputs
    return [file for suite in suites for file in outputs_on(suite, prediction.all_models)]


def calls(function, arguments, uses=(), code=None, **others):
    """Return parameters for the script ANALYSE, which calls a function of the library.

    The function, `module:name`, is given the rule's inputs and outputs by their names, and
    `arguments`: a mapping, or a function of wildcards. An edit of its code, or of what else it
    `uses`, repeats the job: Snakemake itself notices edits of the script only.
    """
    names = code or [function, *uses]
    arguments_of_job = arguments if callable(arguments) else lambda wildcards: arguments
    return {
        "function": function,
        # JSON that is no HTML.
        "job": lambda wildcards: json.dumps(arguments_of_job(wildcards)).replace("<", "\\u003c"),
        # A function, so that only the code of rules that have jobs is read.
        "code": lambda wildcards: CODE("analyse", *names),
        **others,
    }


def without_wildcards(value):
    """Wrap a value as a function, so that Snakemake takes no braces in it for wildcards."""
    return lambda wildcards: value


def files_of(rule, **wildcards):
    """Return all files that a rule writes for lists of values of its wildcards."""
    return expand(list(map(str, rule.output)), **wildcards)


def in_report(stem, artifact, **wildcards):
    """Return the files of a table or figure, those for Snakemake's report marked by `report`."""
    entry, files = artifact.with_wildcards(wildcards).report if wildcards else artifact.report, []
    for suffix in artifact.suffixes:
        file = stem + suffix
        if suffix in artifact.reported:
            # The format tells a table from its figure.
            labels = {**entry.labels, "format": suffix.lstrip(".")}
            caption = caption_file(entry.caption)
            file = report(file, category=entry.category, caption=caption, labels=labels)
        files.append(file)
    return files


def caption_file(text):
    """Write a caption to a file that Snakemake reads when it makes a report; return its path."""
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    file = Path(".snakemake", "captions", f"{name}.rst").absolute()
    if workflow.is_main_process and not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return str(file)
