# Inference: one forward pass of a model over a dataset, to predictions and what else is asked for.
# Weights come from training, from the user, or from where timm and torchvision publish them.
from matcheval.inference import INFERENCE_VERSION, OUTPUT_SUFFIXES

# Said only where it matters: it makes no other predictions anew.
N_TOP_FLAG = (
    ["--n-top", str(STUDY.inference["top"])]
    if "top" in STUDY.inference["outputs"]
    else []
)


# Needs the network, which the nodes of a cluster may not have.
localrules:
    download_weights,


rule download_weights:
    output:
        update(f"{SHARED}/weights/{{weights}}"),
    log:
        f"{SHARED}/logs/download_weights/{{weights}}.log",
    wildcard_constraints:
        weights=one_of(STUDY.inference_plan.weights_urls),
    conda:
        "../envs/models.yaml"
    resources:
        **resources_of("download_weights"),
    params:
        url=lambda wildcards: STUDY.inference_plan.weights_urls[wildcards.weights],
    message:
        "Downloading {wildcards.weights}"
    shell:
        'python -m download_weights --url {params.url:q} --mirror "$MATCHEVAL_MIRROR"'
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
    threads: threads_of("predict_dataset")
    resources:
        **resources_of("predict_dataset"),
        # As in training: it changes no more than the last bits, and makes nothing again.
        engine=f"--batch-size {STUDY.inference['batch_size']}",
    params:
        model=lambda wildcards: STUDY.runnable[wildcards.model].source.to_json(),
        code=lambda wildcards: STUDY.runnable[wildcards.model].source.code_digest,
        folder=lambda wildcards, input: Path(input.dataset[0]).parent,
        device=STUDY.inference["device"],
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
        ]
        + N_TOP_FLAG,
        version=INFERENCE_VERSION,
    message:
        "Predicting {wildcards.dataset} with {wildcards.model}"
    shell:
        LEASE_GPU
        + "python -m predict_dataset --model {params.model:q} --dataset {params.folder:q}"
        " --dataset-name {wildcards.dataset} {resources.engine}"
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
