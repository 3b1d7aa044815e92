# The files that rules read, as functions of the names of datasets, models, pairs and suites.


def dataset_files(datasets):
    """Return `<results>/datasets/{dataset}/{file}`, which are read of datasets.

    Of those whose images are made when they are read, these are `<study>/datasets/{batch}`, and
    what they are made from.
    """
    return list(dict.fromkeys(file for name in datasets for file in STUDY.dataset_inputs(name)))


def sources_of(datasets):
    """Return what datasets are built from: `<results>/downloads/{file}`, and other datasets."""
    return list(dict.fromkeys(file for name in datasets for file in STUDY.files_before(name)))


def descriptions(datasets):
    """Return `<results>/datasets/{dataset}/dataset.json` and `datapoints.parquet`.

    Of those whose images are made when they are read, these are `<study>/datasets/{batch}`.
    """
    return [file for name in datasets for file in STUDY.description_inputs(name)]


def image_sets(datasets):
    """Return the files of datasets, images marked so that only their digest counts, not their time.

    Snakemake compares the contents of small files, such as the description with the digest.
    """
    files = dataset_files(datasets)
    return [ancient(file) if Path(file).name == "images.npy" else file for file in files]


def training_sets(models):
    """Return the sets that models are trained and validated on."""
    trained = [STUDY.trained[name] for name in models]
    return image_sets(name for one in trained for name in (*one.train, *one.validation))


def weights(models):
    """Return `<study>/checkpoints/{model}.safetensors`, or published `<results>/weights/{file}`."""
    made = [name for name in models if not STUDY.runnable[name].source.own_weights]
    return list(dict.fromkeys(filter(None, map(STUDY.weights_file, made))))


def custom_files(models):
    """Return the user's files of models, weights and code, whose state is a parameter."""
    return ancient(COMMANDS.custom_weights(models) + COMMANDS.custom_code(models))


def suite_files():
    """Return what stands for the sets of suites, so that it stays when images are deleted."""
    made = {name for sets in INFERENCE.suites.values() for name in sets} & STUDY.made
    suites = expand("<study>/suites/{suite}.json", suite=INFERENCE.checked_suites)
    return list(dict.fromkeys(suites + descriptions(sorted(made))))


def predictions(datasets, models=None, suffixes=(".parquet",)):
    """Return `<study>/predictions/{dataset}/{model}{suffix}`, or files of the user's.

    Of a set in a suite only, it is the folder `<study>/predictions/{suite}/{model}`.
    """
    files = (STUDY.results_inputs(name, models, suffixes) for name in datasets)
    return list(dict.fromkeys(file for several in files for file in several))


def predictions_of_pair(pair, models):
    """Return predictions on both sets of a pair, and `<study>/classes/{pair}.txt` if it is needed."""
    STUDY.analyses["matching"].check_can_be_matched(pair)
    late = [pair] if pair in STUDY.pairs_compared_late else []
    classes = expand("<study>/classes/{pair}.txt", pair=late)
    return predictions(STUDY.pairs[pair].datasets.values(), models) + classes


def by_matching(path, **wildcards):
    """Return a path for every matching of the study; other wildcards stay in it."""
    return expand(
        path, matching=STUDY.analyses["matching"].matchings, allow_missing=True, **wildcards
    )


def outputs_on(suite, models):
    """Return all outputs of models on a suite, its base and its reference.

    They are what `predictions` returns, and descriptions of the sets whose labels are read.
    """
    return STUDY.analyses["accuracy_prediction"].inputs(suite, models)
