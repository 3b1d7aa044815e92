# Inference: one forward pass of a model over a dataset, to predictions and what else is asked for.
# Weights come from training, from the user, or from where timm and torchvision publish them.
from matcheval.inference import INFERENCE_VERSION, OUTPUT_SUFFIXES


def model_files(wildcards):
    """What a model is loaded from: weights, and the code of a callable."""
    source = STUDY.models[wildcards.model].source
    files = {"weights": STUDY.weights_file(wildcards.model), "code": source.code_file}
    return {name: str(file) for name, file in files.items() if file}


def ticket(wildcards):
    """Where a model is told of the pixel cache.

    A ticket stays, and it is `ancient` for models that have their predictions: these are not made
    again because pixels are (see `tickets`). It is not for the others: Snakemake passes over jobs
    whose inputs that are made anew are all ancient and there, even if they have no output yet.
    """
    file = STUDY.ticket_file(wildcards.dataset, wildcards.model)
    if not file:
        return []
    job = STUDY.pixel_jobs.get(file)
    predictions = STUDY.predictions_file(wildcards.dataset, wildcards.model)
    return [file if job and predictions in job.waiting else ancient(file)]


def inference_memory(wildcards, input, attempt):
    """Memory in MB: of torch, activations and buffers of a batch, and weights."""
    weights = os.path.getsize(input.weights) / 1e6 if "weights" in input.keys() else 0
    resized = STUDY.ticket_file(wildcards.dataset, wildcards.model)
    return int(attempt * ((4000 if resized else 1500) + 4 * weights))


def inference_minutes(wildcards, attempt):
    """Time limit: an hour at 224 × 224 on a GPU, a day on a CPU."""
    height, width = STUDY.inference_plan.geometry(wildcards.model).crop
    if not height:
        return 30 * attempt
    hours = 1 if STUDY.inference["device"] == "cuda" else 24
    return int(60 * hours * attempt * max(1, height * width / 224**2))


# Needs the network, which the nodes of a cluster may not have.
localrules:
    download_weights,


rule download_weights:
    output:
        update(f"{SHARED}/weights/{{weights}}"),
    log:
        f"{SHARED}/logs/download_weights/{{weights}}.log",
    wildcard_constraints:
        weights="|".join(map(re.escape, STUDY.inference_plan.weights_urls)) or "(?!)",
    conda:
        "../envs/models.yaml"
    resources:
        mem_mb=500,
        runtime=120,
    params:
        url=lambda wildcards: STUDY.inference_plan.weights_urls[wildcards.weights],
    message:
        "Downloading {wildcards.weights}"
    shell:
        "python -m download_weights --url {params.url:q} --mirror={STUDY.mirror:q}"
        " --output {output:q} > {log:q} 2>&1"


rule predict_dataset:
    input:
        unpack(model_files),
        dataset=dataset_files("{dataset}"),
        ticket=ticket,
    output:
        **{
            name: f"{SHARED}/predictions/{{dataset}}/{{model}}{OUTPUT_SUFFIXES[name]}"
            for name in ["predictions", *STUDY.inference["outputs"]]
        },
    log:
        f"{SHARED}/logs/predict_dataset/{{dataset}}/{{model}}.log",
    benchmark:
        f"{SHARED}/benchmarks/predict_dataset/{{dataset}}/{{model}}.tsv"
    conda:
        "../envs/models.yaml"
    threads: STUDY.inference["threads"]
    resources:
        mem_mb=inference_memory,
        runtime=inference_minutes,
        gpu=int(STUDY.inference["device"] == "cuda"),
    params:
        model=lambda wildcards: STUDY.models[wildcards.model].source.to_json(),
        code=lambda wildcards: STUDY.models[wildcards.model].source.code_digest,
        folder=lambda wildcards, input: Path(input.dataset[0]).parent,
        device=STUDY.inference["device"],
        batch_size=STUDY.inference["batch_size"],
        precision=STUDY.inference["precision"],
        compile="--compile" if STUDY.inference["compile"] else "",
        files=lambda wildcards, input, output: [
            word
            for name, file in [
                *(pair for pair in input.items() if pair[0] in ("weights", "ticket")),
                *output.items(),
            ]
            if file
            for word in (f"--{name}", str(file))
        ],
        version=INFERENCE_VERSION,
    message:
        "Predicting {wildcards.dataset} with {wildcards.model}"
    shell:
        "python -m predict_dataset --model {params.model:q} --dataset {params.folder:q}"
        " --dataset-name {wildcards.dataset} --batch-size {params.batch_size}"
        " --threads {threads} --device {params.device} --precision {params.precision}"
        " {params.compile} {params.files:q} > {log:q} 2>&1"


rule predictions:
    input:
        [
            STUDY.inference_files(dataset, model)
            for pair in STUDY.pairs.values()
            for dataset in (pair.original, pair.replication)
            for model in STUDY.models
        ],
