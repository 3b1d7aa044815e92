"""Built results are what they claim to be, whatever the study."""

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from matcheval.analyses.sampling.settings import EXCLUDED, PROVENANCE, STRATA
from matcheval.datasets.folders import DESCRIPTION, read_dataset
from matcheval.io.self_digests import read_json, verify_file
from matcheval.io.tables import read_parquet, write_table
from matcheval.protocol.schemas import COMPARISON_RUNS, GAPS, MEAN_GAPS, MODEL_TABLE, PAIRS
from matcheval.replication.tables import RESULTS

SELF_VERIFYING = (".parquet", ".npz", ".json", ".safetensors")


def matched_files(results, stage, suffix=""):
    return results.of_stage(stage, suffix) or pytest.skip(
        "nothing was matched: no pair has probabilities on both sides"
    )


@pytest.fixture(scope="module")
def runs(results):
    frames = []
    for path in matched_files(results, "matched"):
        table = COMPARISON_RUNS.read(path)
        score = (table.schema.metadata or {}).get(b"score", b"confidence").decode()
        frames.append(table.to_pandas().assign(matching=path.parent.name, score=score))
    return pd.concat(frames)


@pytest.fixture(scope="module")
def tables(results):
    paths = matched_files(results, "tables", ".parquet")
    return {path: MODEL_TABLE.read(path).to_pandas() for path in paths}


def test_counts_and_fractions_fit_together(runs):
    assert (runs.n_matched <= np.minimum(runs.n_source, runs.n_target)).all()
    np.testing.assert_allclose(runs.fraction_unmatched, 1 - runs.n_matched / runs.n_target)
    fractions = runs.filter(regex="accuracy|confidence|fraction")
    assert ((fractions.isna()) | (fractions.ge(0) & fractions.le(1))).all(axis=None)


def test_matched_confidences_are_within_epsilon(runs):
    runs = runs[runs.score == "confidence"]
    gap = (runs.matched_confidence_source - runs.matched_confidence_target).abs()
    assert (gap[gap.notna()] <= runs.epsilon[gap.notna()] + 1e-12).all()


def test_every_model_has_every_seed_once(runs):
    counts = runs.groupby(["pair", "matching", "model"]).seed.agg(["size", "nunique"])
    assert (counts["size"] == counts["nunique"]).all()
    assert len(set(counts["size"])) == 1


def test_runs_are_those_that_the_study_file_asks_for(results, runs):
    expected = results.expected
    for (pair, matching), mine in runs.groupby(["pair", "matching"]):
        assert set(mine.epsilon) == {expected["epsilons"][matching]}, matching
        assert set(mine.seed) == set(expected["seeds"]), matching
        assert set(mine.model) == set(expected["models"]), pair
        names = set(zip(mine.original, mine.replication, strict=True))
        assert names == {tuple(expected["pairs"][pair])}, pair


def test_tables_are_the_runs_averaged(runs, tables):
    for path, table in tables.items():
        mine = runs[(runs.pair == path.parent.name) & (runs.matching == path.stem)]
        means = mine.groupby("model").fraction_unmatched.mean()
        np.testing.assert_allclose(table.fraction_unmatched_mean, means[table.model])
        difference = table.accuracy_original - table.accuracy_replication
        np.testing.assert_allclose(table.gap, difference, atol=1e-12)


def test_csv_tables_are_those_of_the_parquet_files(results, tmp_path):
    twins = [p for p in results.files if p.suffix == ".csv" and p.with_suffix(".parquet").is_file()]
    for path in twins:
        write_table(read_parquet(path.with_suffix(".parquet")), tmp_path / path.name)
        assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path


@pytest.fixture(scope="module")
def gaps(results):
    """Gaps by pair and matching: of the models, and of their means."""
    paths = matched_files(results, "gaps", ".parquet")
    folder, gaps = results.study / "gaps", {}
    for path in (p for p in paths if p.parent != folder and p.stem != "calibration"):
        means = MEAN_GAPS.read(folder / f"{path.parent.name}.parquet").to_pandas()
        mean = means.set_index("matching").loc[path.stem]
        gaps[path.parent.name, path.stem] = GAPS.read(path).to_pandas(), mean
    return gaps


def test_gaps_are_those_of_the_tables(gaps, tables):
    assert {(path.parent.name, path.stem) for path in tables} == set(gaps)
    for path, table in tables.items():
        mine = gaps[path.parent.name, path.stem][0].set_index("model").loc[table.model]
        for ours, theirs in (
            ("gap", "gap"), ("matched_gap", "matched_gap_mean"),
            ("fraction_unmatched", "fraction_unmatched_mean"),
            ("unmatched_accuracy_target", "unmatched_accuracy_target_mean"),
        ):  # fmt: skip
            np.testing.assert_allclose(mine[ours], table[theirs], atol=1e-12)


def test_terms_and_parts_add_up_to_gaps(gaps):
    for models, mean in gaps.values():
        for found in (models.dropna(subset="matched_gap"), mean):
            terms = found.matched_gap + found.source_selection + found.dropped_targets
            for total in (terms, found.confidence_part + found.conditional_part):
                np.testing.assert_allclose(total, found.gap, atol=1e-12)


def test_no_file_is_damaged(results):
    """Every file of the study that can hold its digest does, and nothing in it has changed."""
    checkpoints = (results.study / "checkpoints").glob("*.safetensors")
    with_digests = [p for p in (*results.files, *checkpoints) if p.suffix in SELF_VERIFYING]
    assert with_digests
    for path in sorted(with_digests):
        assert verify_file(path), f"{path} does not contain its digest"


def test_images_are_those_that_datasets_describe(results):
    for path in results.shared("datasets", DESCRIPTION):
        read_dataset(path.parent)


def test_pairs_use_no_point_twice(results):
    for path in results.of_stage("pairs"):
        pairs = PAIRS.read(path).to_pandas()
        assert not pairs.duplicated(["seed", "source_index"]).any()
        assert not pairs.duplicated(["seed", "target_index"]).any()


def test_figures_are_whole(results):
    paths = results.of_stage("figures")
    ends = {
        ".png": (b"\x89PNG", b"IEND"), ".pdf": (b"%PDF", b"%%EOF"), ".svg": (b"<?xml", b"</svg>"),
    }  # fmt: skip
    assert paths
    for path in paths:
        content = path.read_bytes()
        start, end = ends[path.suffix]
        assert content.startswith(start)
        if path.suffix == ".png":
            with Image.open(path) as image:
                image.verify()  # its checksums
        assert end in content[-12:]


@pytest.fixture(scope="module")
def replications(results):
    paths = [path for path in results.of_stage("replication", ".parquet") if "." not in path.stem]
    tables = [RESULTS.read(path).to_pandas() for path in paths if path.stem != "changes"]
    assert tables
    return tables


def test_replications_rank_every_model_once(replications):
    for table in replications:
        for origin in ("original", "replication"):
            assert sorted(table[f"{origin}_rank"]) == list(range(1, len(table) + 1))
            ranked = table.sort_values(f"{origin}_rank")
            assert (np.diff(ranked[f"accuracy_{origin}"]) <= 0).all()
            low, high = (table[f"accuracy_{origin}_{bound}"] for bound in ("low", "high"))
            assert (low.isna() | table[f"accuracy_{origin}"].between(low, high)).all()
        assert (table.delta_rank == table.original_rank - table.replication_rank).all()


def test_replications_and_matching_agree_on_accuracies(replications, tables):
    for table in tables.values():
        for mine in replications:
            if (mine.pair[0], mine.top[0]) != (table.pair[0], 1):
                continue
            mine = mine.set_index("model").loc[table.model]
            for origin in ("original", "replication"):
                np.testing.assert_allclose(mine[f"accuracy_{origin}"], table[f"accuracy_{origin}"])


class Sampled:
    """A sampled set: its provenance, what was excluded, its strata, and the dataset itself."""

    def __init__(self, results, name):
        paths = [*results.shared("sampling"), *results.shared("datasets")]
        files = {path.name: path for path in paths if path.parent.name == name}
        self.name = name
        self.rows = PROVENANCE.read(files["provenance.parquet"]).to_pandas()
        self.excluded = EXCLUDED.read(files["excluded.parquet"]).to_pandas()
        self.strata = STRATA.read(files["strata.parquet"]).to_pandas()
        self.datapoints = pd.read_parquet(files["datapoints.parquet"])
        description = read_json(files["dataset.json"])
        self.classes = description["classes"]
        self.settings = description["provenance"]["settings"]


@pytest.fixture(scope="module")
def sampled(results):
    names = {path.parent.name for path in results.shared("sampling", "provenance.parquet")}
    return [Sampled(results, name) for name in sorted(names)]


def test_sampled_sets_hold_what_their_provenance_says(sampled):
    for made in sampled:
        rows = made.rows
        assert rows["index"].tolist() == list(range(len(rows))), made.name
        assert not rows.image.duplicated().any(), made.name
        labels = [made.classes[label] for label in made.datapoints.label]
        assert rows["class"].tolist() == labels, made.name
        assert not set(rows.pool_index[rows.pool_index.duplicated()]), made.name


def test_sampled_sets_fill_their_strata(sampled):
    for made in sampled:
        drawn = made.rows.groupby(["class", "drawn_for"]).size()
        strata = made.strata.set_index(["class", "stratum"])
        assert (strata.n_drawn == strata.n_target).all(), made.name
        filled = strata.n_drawn[strata.n_drawn > 0]
        assert drawn.reindex(filled.index, fill_value=0).tolist() == filled.tolist(), made.name
        own = made.rows[made.rows.stratum == made.rows.drawn_for]
        counts = own.groupby(["class", "drawn_for"]).size()
        assert counts.reindex(strata.index, fill_value=0).tolist() == strata.n_own.tolist()
        per_class = made.rows["class"].value_counts()
        assert (per_class == made.settings["per_class"]).all(), made.name
        assert len(made.rows) == strata.n_target.sum(), made.name


def test_nothing_that_was_excluded_was_sampled(sampled):
    for made in sampled:
        both = made.rows.merge(made.excluded, on=["image", "class"])
        assert both.empty, made.name
        assert (made.excluded.reason != "").all(), made.name


def test_sampled_images_were_selected_as_the_strategy_wants(sampled):
    for made in sampled:
        rows, settings = made.rows, made.settings
        if settings["strategy"] == "keywords":
            continue
        assert (rows.n_annotations >= 10).all(), made.name
        np.testing.assert_allclose(rows.frequency, rows.n_selected / rows.n_annotations)
        if settings["strategy"] == "threshold":
            least = rows["class"].map(settings["thresholds"]).fillna(settings["threshold"])
            assert (rows.frequency >= least.astype(float)).all(), made.name
