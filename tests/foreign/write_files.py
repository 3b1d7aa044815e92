"""Writes prediction files with the tools that people use, for test_foreign_files.py.

All hold the same 12 datapoints of three classes. The tools need an environment of their own:

    pip install pandas polars duckdb datasets torch torchmetrics scikit-learn timm wandb h5py \\
        openpyxl safetensors ml_dtypes
    python tests/foreign/write_files.py tests/foreign/files

timm's `inference.py` and the exports of FiftyOne are no libraries: their layouts are written as
their documentation and source have them.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

import datasets
import duckdb
import h5py
import ml_dtypes
import numpy as np
import pandas as pd
import polars as pl
import safetensors.torch
import torch
import torchmetrics
import wandb
from sklearn.linear_model import LogisticRegression

CLASSES = ("cat", "dog", "owl")
N = 12
RNG = np.random.default_rng(7)
LABEL = np.array([2, 0, 1, 1, 0, 2, 2, 1, 0, 0, 1, 2])
LOGITS = (RNG.normal(0, 1, (N, 3)) + 1.5 * np.eye(3)[LABEL]).round(3)
PROBS = (np.exp(LOGITS) / np.exp(LOGITS).sum(1, keepdims=True)).round(6)
PREDICTED, CONFIDENCE = LOGITS.argmax(1), PROBS.max(1)
NAMES, PREDICTED_NAMES = (np.array(CLASSES)[one] for one in (LABEL, PREDICTED))
FILES = [f"photos/{name}/{i:03d}.png" for i, name in enumerate(NAMES)]
PLAIN = pd.DataFrame({"label": LABEL, "prediction": PREDICTED, "probability": CONFIDENCE})
SHORT = pd.DataFrame({"y_true": LABEL, "y_pred": PREDICTED, "confidence": CONFIDENCE})
WIDE = pd.DataFrame(PROBS, columns=CLASSES).assign(target=NAMES)
PREFIXED = pd.DataFrame(LOGITS, columns=[f"logit_{name}" for name in CLASSES])
PAIRS = [[{"label": c, "score": float(p)} for c, p in sorted(zip(CLASSES, row, strict=True),
          key=lambda one: -one[1])] for row in PROBS]  # fmt: skip


def write_pandas():
    PLAIN.to_csv("pandas.csv", index=False)
    SHORT.to_csv("pandas_index.csv")
    WIDE.to_csv("pandas_wide.csv", index=False)
    pd.DataFrame(PROBS).assign(target=LABEL).rename(columns=str).to_parquet("pandas_wide.parquet")
    german = PLAIN.assign(label=[f"Kätzchen {k}" for k in LABEL],
                          prediction=[f"Kätzchen {k}" for k in PREDICTED])  # fmt: skip
    german.to_csv("excel_german.csv", sep=";", decimal=",", encoding="cp1252", index=False)
    SHORT.to_csv("excel_unicode.txt", sep="\t", encoding="utf-16", index=False)
    PLAIN.to_csv("pandas_bom.csv", encoding="utf-8-sig", quoting=1, index=False)
    for suffix in ("gz", "bz2", "xz", "zst"):
        PREFIXED[PREFIXED.columns[::-1]].assign(gt=NAMES).to_csv(
            f"pandas.csv.{suffix}", index=False
        )
    SHORT.rename(columns={"confidence": "msp"}).to_feather("pandas.feather")
    names = {"y_true": "Ground Truth", "y_pred": "Predicted Label", "confidence": "Max Prob"}
    SHORT.rename(columns=names).to_excel("pandas.xlsx", index=False)  # fmt: skip
    for orient in ("split", "table", "columns"):
        SHORT.to_json(f"pandas_{orient}.json", orient=orient)
    keyed = SHORT.set_axis(FILES, axis=0)
    keyed.to_json("pandas_index.json", orient="index")
    SHORT.assign(image=FILES).sample(frac=1, random_state=1).to_json(
        "pandas_shuffled.jsonl", orient="records", lines=True)  # fmt: skip
    PREFIXED.assign(label=LABEL).set_axis(["p_1", "p_2", "p_3", "label"], axis=1).pipe(
        lambda t: t.assign(label=t["label"] + 1, p_1=PROBS[:, 0], p_2=PROBS[:, 1], p_3=PROBS[:, 2])
    ).to_csv("from_1.csv", index=False)
    (PLAIN.assign(probability=(100 * CONFIDENCE).round(4))).to_csv("percent.csv", index=False)
    PLAIN[["label", "prediction"]].to_csv("classes_only.csv", index=False)
    PREFIXED.assign(label=LABEL)[["logit_owl", "logit_cat", "logit_dog", "label"]].to_csv(
        "order_unknown.csv", index=False)  # fmt: skip
    WIDE.assign(target=WIDE["target"].str.title()).to_csv("case.csv", index=False)
    pd.DataFrame({"y_true": LABEL, "probs": PROBS.tolist()}).to_csv("lists.csv", index=False)
    pd.DataFrame({"y_true": LABEL, "logits": list(LOGITS)}).to_csv("numpy_lists.csv", index=False)
    german = PLAIN.to_csv(sep=";", decimal=",", index=False)
    Path("excel_sep.csv").write_text(f"sep=;\n{german}")
    mixed = SHORT.assign(y_pred=PREDICTED_NAMES)
    mixed.to_csv("names_and_numbers.csv", index=False)
    pd.DataFrame(LOGITS, columns=CLASSES).assign(label=LABEL, loss=0.5).to_csv(
        "wide_and_more.csv", index=False)  # fmt: skip
    SHORT.assign(target=LABEL[::-1]).to_csv("two_truths.csv", index=False)


def write_polars():
    table = pl.DataFrame({"target": LABEL, "probs": PROBS.tolist(), "path": FILES})
    table.write_parquet("polars_lists.parquet")
    table.write_ndjson("polars.ndjson")
    table.write_ipc("polars.arrow")
    pl.from_pandas(SHORT).write_csv("polars_bars.csv", separator="|")


def write_duckdb():
    con = duckdb.connect()
    con.register("t", SHORT)
    exact = (
        "SELECT y_true AS truth, y_pred AS pred, CAST(confidence AS DECIMAL(8, 6)) AS conf FROM t"
    )
    con.sql(f"COPY ({exact}) TO 'duckdb.parquet'")
    con.sql(f"COPY ({exact}) TO 'duckdb.tsv' (DELIMITER '\t')")
    con.sql(f"COPY ({exact}) TO 'duckdb.json' (ARRAY true)")


def write_datasets():
    features = datasets.Features({
        "label": datasets.ClassLabel(names=list(CLASSES)), "logits": datasets.List(
            datasets.Value("float32")), "image_id": datasets.Value("string"),
    })  # fmt: skip
    rows = {"label": LABEL, "logits": LOGITS.tolist(), "image_id": FILES}
    found = datasets.Dataset.from_dict(rows, features=features)
    found.to_parquet("datasets.parquet")
    found.to_json("datasets.jsonl")
    with tempfile.TemporaryDirectory() as folder:
        found.save_to_disk(folder)
        (file,) = Path(folder).glob("data-*.arrow")
        Path("datasets_stream.arrow").write_bytes(file.read_bytes())


def write_torch():
    logits, target = torch.tensor(LOGITS, dtype=torch.float32), torch.tensor(LABEL)
    metric = torchmetrics.CatMetric()
    metric.update(logits)
    torch.save({"preds": metric.compute().reshape(-1, 3), "target": target}, "torchmetrics.pt")
    batches = [{"logits": logits[i : i + 5], "labels": target[i : i + 5]} for i in (0, 5, 10)]
    torch.save(batches, "lightning_batches.pt")
    torch.save((logits, target), "tuple.pt")
    torch.save(torch.nn.Linear(2, 2), "module.pt")
    Path("fastai").mkdir(exist_ok=True)
    torch.save(torch.tensor(PROBS), "fastai/preds.pt")
    torch.save(target, "fastai/targs.pt")
    half = {"outputs": logits.bfloat16(), "labels": target}
    safetensors.torch.save_file(half, "half.safetensors")


def write_numpy():
    np.savez("numpy.npz", labels=LABEL, logits=LOGITS)
    np.savez_compressed("numpy_half.npz", targets=LABEL, outputs=LOGITS.astype(np.float16))
    np.savez("numpy_sklearn.npz", y_true=NAMES, y_score=PROBS)
    np.savez("numpy_named.npz", y_true=LABEL, y_score=PROBS)
    np.savez("numpy_bfloat16.npz", gt=LABEL, logits=LOGITS.astype(ml_dtypes.bfloat16))
    np.savez("numpy_positional.npz", LOGITS, LABEL)
    np.savez("trainer.npz", predictions=LOGITS, label_ids=LABEL)
    np.savez("keras.npz", y_test=np.eye(3)[LABEL], y_pred=PROBS.astype(np.float32))
    np.savez("relu.npz", labels=LABEL, outputs=LOGITS - LOGITS.min())
    np.savez("labels_from_1.npz", labels=LABEL + 1, softmax=PROBS)
    Path("numpy_two").mkdir(exist_ok=True)
    np.save("numpy_two/val_logits.npy", LOGITS)
    np.save("numpy_two/val_labels.npy", LABEL)
    np.savetxt("numpy_savetxt.csv", np.c_[LABEL, PREDICTED, CONFIDENCE], delimiter=",", fmt="%.6f")
    np.savetxt("numpy_header.csv", np.c_[LABEL, PROBS], delimiter=",", header="label,p_0,p_1,p_2",
               fmt="%.6f")  # fmt: skip
    with h5py.File("h5py.h5", "w") as file:
        file["test/labels"], file["test/logits"] = LABEL, LOGITS


def write_sklearn():
    x = LOGITS + RNG.normal(0, 0.1, LOGITS.shape)
    model = LogisticRegression().fit(x, NAMES)
    table = pd.DataFrame(model.predict_proba(x), columns=[f"proba_{c}" for c in model.classes_])
    table.assign(y_true=NAMES, y_pred=model.predict(x)).to_csv("sklearn.csv", index=False)
    binary = LogisticRegression().fit(x, LABEL == 2)
    positive = binary.predict_proba(x)[:, 1]
    two = pd.DataFrame(
        {"y_true": (LABEL == 2).astype(int), "y_pred": binary.predict(x).astype(int)}
    )
    two.assign(y_prob=positive).to_csv("sklearn_binary.csv", index=False)
    two.assign(score=positive).to_csv("binary_score.csv", index=False)


def write_timm():
    """As `inference.py` of timm does it, with the options that each name tells."""
    Path("timm").mkdir(exist_ok=True)
    pd.DataFrame({"filename": FILES, "class": NAMES}).iloc[::-1].to_csv(
        "timm/labels.csv", index=False
    )
    order = np.argsort(-PROBS, axis=1, kind="stable")[:, :2]
    top = np.take_along_axis(PROBS, order, axis=1)
    names = np.array(CLASSES, object)[order]
    first = pd.DataFrame(
        {"filename": FILES, "index": order[:, 0], "label": names[:, 0], "prob": top[:, 0]}
    )
    first.drop(columns="index").to_csv("timm_alone.csv", index=False)
    first.drop(columns="index").to_csv("timm/top1.csv", index=False)
    first.to_csv("timm/include_index.csv", index=False)
    columns = {"filename": FILES}
    for what, values in (("index", order), ("label", names), ("prob", top)):
        columns |= {f"{what}_{i}": values[:, i] for i in range(2)}
    pd.DataFrame(columns).to_csv("timm/separate_col.csv", index=False)
    lists = pd.DataFrame({"filename": FILES, "label": list(names), "prob": list(top)})
    lists.set_index("filename").to_parquet("timm/top2.parquet")
    lists.set_index("filename").to_json("timm/top2.json", indent=4, orient="index")
    everything = pd.DataFrame({"filename": FILES, "prob": list(PROBS)})
    everything.to_json("timm/all_named.json", indent=4, orient="split", index=False)


def write_records():
    """Pipelines of Hugging Face and FiftyOne, as documented."""
    Path("pipeline_alone.json").write_text(json.dumps([pairs[0] for pairs in PAIRS]))
    rows = [
        {"file": f, "true_label": n, **p[0]}
        for f, n, p in zip(FILES, NAMES.tolist(), PAIRS, strict=True)
    ]
    Path("pipeline_best.json").write_text(json.dumps(rows))
    both = zip(NAMES.tolist(), PAIRS, strict=True)
    rows = [{"true_label": name, "predictions": pairs} for name, pairs in both]
    Path("pipeline_all.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    samples = [
        {"_id": {"$oid": f"{i:024x}"}, "filepath": FILES[i], "tags": [], "metadata": None,
         "ground_truth": {"_cls": "Classification", "label": str(NAMES[i]), "confidence": None},
         "predictions": {"_cls": "Classification", "label": str(PREDICTED_NAMES[i]),
                         "confidence": float(CONFIDENCE[i]), "logits": LOGITS[i].tolist()}}
        for i in range(N)
    ]  # fmt: skip
    Path("fiftyone_samples.json").write_text(json.dumps({"samples": samples}))
    pd.DataFrame({
        "filepath": FILES, "ground_truth.label": NAMES, "predictions.label": PREDICTED_NAMES,
        "predictions.confidence": CONFIDENCE,
    }).to_csv("fiftyone.csv", index=False)  # fmt: skip


def write_wandb():
    table = SHORT.rename(columns={"y_true": "truth", "y_pred": "guess", "confidence": "score"})
    table = table.assign(guess=PREDICTED_NAMES, truth=NAMES).rename(columns={"guess": "prediction"})
    scores = {f"score_{c}": PROBS[:, i] for i, c in enumerate(CLASSES)}
    for name, one in (("wandb", table), ("wandb_scores", pd.DataFrame({"truth": NAMES} | scores))):
        with tempfile.TemporaryDirectory() as folder:
            run = wandb.init(mode="offline", dir=folder, settings=wandb.Settings(silent=True))
            run.log({"predictions": wandb.Table(dataframe=one)})
            run.finish()
            (file,) = Path(folder).rglob("*.table.json")
            Path(f"{name}.table.json").write_bytes(file.read_bytes())


if __name__ == "__main__":
    Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    os.chdir(sys.argv[1])
    for write in (write_pandas, write_polars, write_duckdb, write_datasets, write_torch,
                  write_numpy,
                  write_sklearn, write_timm, write_records, write_wandb):  # fmt: skip
        write()
    np.savez("meant.npz", label=LABEL, prediction=PREDICTED, probability=CONFIDENCE)
