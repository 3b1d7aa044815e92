# Inference: one forward pass of a model over a dataset, to predictions and what else is asked for.
from matcheval.inference import INFERENCE_VERSION


rule predict_dataset:
    input:
        checkpoint=rules.train_model.output.checkpoint,
        dataset=dataset_files("{dataset}"),
    output:
        **{
            name: f"{SHARED}/predictions/{{dataset}}/{{model}}.{name}.parquet"
            for name in STUDY.inference["outputs"]
        },
        predictions=f"{SHARED}/predictions/{{dataset}}/{{model}}.parquet",
    log:
        f"{SHARED}/logs/predict_dataset/{{dataset}}/{{model}}.log",
    benchmark:
        f"{SHARED}/benchmarks/predict_dataset/{{dataset}}/{{model}}.tsv"
    conda:
        "../envs/models.yaml"
    threads: threads_of("predict_dataset")
    resources:
        **resources_of("predict_dataset"),
    params:
        folder=lambda wildcards, input: Path(input.dataset[0]).parent,
        device=STUDY.inference["device"],
        batch_size=STUDY.inference["batch_size"],
        further=lambda wildcards, output: [
            word
            for name in STUDY.inference["outputs"]
            for word in (f"--{name}", str(output[name]))
        ],
        version=INFERENCE_VERSION,
    message:
        "Predicting {wildcards.dataset} with {wildcards.model}"
    shell:
        LEASE_GPU + "python -m predict_dataset --model {wildcards.model}"
        " --checkpoint {input.checkpoint:q} --dataset {params.folder:q}"
        " --dataset-name {wildcards.dataset} --batch-size {params.batch_size}"
        " --threads {threads} --device {params.device} --output {output.predictions:q}"
        " {params.further:q} > {log:q} 2>&1"


rule predictions:
    input:
        [
            STUDY.inference_files(dataset, model)
            for pair in STUDY.pairs.values()
            for dataset in (pair.original, pair.replication)
            for model in STUDY.models
        ],
