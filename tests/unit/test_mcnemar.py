"""McNemar's test: known values, who counts as the original, and undefined cases."""

import numpy as np
import pytest

from compared import compared, models, swapped
from helpers import predictions
from matcheval.analyses.mcnemar import SCHEMA, tabulate
from matcheval.errors import InputError
from matcheval.statistics.significance import mcnemar
from vectors import case


def test_known_values():
    vector = case("protocol_statistics", "A4.mcnemar")
    found = mcnemar(*np.transpose(vector["inputs"]["b_c"]))
    np.testing.assert_allclose(found, vector["expected"]["p"], atol=vector["tol"])
    assert np.median(found) == pytest.approx(vector["expected"]["median"])
    assert mcnemar([5, 0, 6], [5, 0, 0]).tolist() == [1, 1, 2 / 2**6]
    with pytest.raises(InputError, match="negative"):
        mcnemar([1, -1], [2, 2])


class TestTable:
    def test_the_gap_is_the_difference_of_discordant_pairs(self):
        known = models()
        table = tabulate(known)
        SCHEMA.from_frame(table)
        assert len(table) == 2 * 2 * 3
        for one in known.matched():
            rows = table[(table.model == one.comparison.model) & (table.matching == one.name)]
            for seed, row in one.rows.items():
                found, hit = rows[rows.seed == seed].iloc[0], row >= 0
                right = one.comparison.source.correct[row[hit]]
                gap = right.mean() - one.comparison.target.correct[hit].mean()
                b, c, n = found.only_original, found.only_replication, found.n_pairs
                assert found.matched_gap == pytest.approx(gap) == (b - c) / n
                variance = ((b + c) - (b - c) ** 2 / n) / (n - 1)  # of the pairs' differences
                assert found.matched_gap_se == pytest.approx(np.sqrt(variance / n))
            assert rows.median_p.nunique() == 1
            assert rows.median_p.iloc[0] == np.median(rows.p)
            assert rows.bound_p.iloc[0] == min(1, 2 * np.median(rows.p))

    def test_the_original_is_counted_whatever_its_role(self):
        table, other = tabulate(models()), tabulate(swapped(models()))
        assert other.only_original.tolist() == table.only_replication.tolist()
        assert other.p.tolist() == table.p.tolist()

    def test_no_pair(self):
        table = tabulate(compared((predictions([0.1, 0.2]), predictions([0.8]))))
        assert table.n_pairs.tolist() == [0, 0]
        undefined = ["matched_gap", "matched_gap_se", "p", "median_p", "bound_p"]
        assert table[undefined].isna().all(axis=None)
        assert SCHEMA.text_columns(table)[-1].cells == ["–", "–"]


def test_models_must_be_of_the_same_datapoints():
    one, other = predictions([0.5] * 3), predictions([0.5] * 2)
    message = "'m1' has other indices or labels on 'new' than model 'm0': 2 datapoints, not 3"
    with pytest.raises(InputError, match=message):
        compared((one, one), (one, other))
    with pytest.raises(InputError, match="no models"):
        compared()
