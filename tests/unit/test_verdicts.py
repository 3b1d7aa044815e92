"""What a comparison shows: claims, their strengths, and the next step."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import hypergeom

from matcheval.accuracy_prediction.estimation import EXTRAPOLATED
from matcheval.accuracy_prediction.recommendation import recommend
from matcheval.protocol.judgement import Counts
from matcheval.protocol.verdicts import CalibrationCounts, verdicts
from matcheval.statistics.claims import Evidence, Strength
from matcheval.statistics.intervals import fisher

SE = 0.006


def gaps(gap=0.0, part=0.0, matched=0.0, left=None, *, old=0.0, se=SE, **others):
    """A row of gaps whose quantities have the same standard error."""
    values = {
        "gap": gap, "confidence_part": part, "matched_gap": matched, "confidence_fall": part,
        "conditional_part": matched if left is None else left,
        "overconfidence_original": old, "overconfidence_replication": old + gap - part,
    }  # fmt: skip
    row = {"pair": "p", "matching": "probability", "original": "old", "replication": "new"}
    row |= {"source": "old", "n_original": 2000, "n_replication": 1000, "n_groups": 0}
    row |= {"paired": False, "tied_share": 0.0, "unshared_bound": 0.0, "n_left_out": 0}
    row |= {"groups_in_one": False}
    row |= {"binning_bound": 0.0, "fraction_unmatched": 0.1, "remarks": "", "matched_gap_se": se}
    row |= {
        f"{name}_se": se
        for name in ("confidence_fall", "overconfidence_original", "overconfidence_replication")
    }
    for name, value in values.items():
        ends = {f"{name}_low": value - 1.96 * se, f"{name}_high": value + 1.96 * se}
        row |= {name: value, **ends}
    return pd.Series(row | others)


def judged(*rows, models=None, margin=0.01):
    tables = {}
    for row in rows:
        of_models = pd.DataFrame([row] if models is None else models)
        of_models = of_models.assign(
            accuracy_original=0.9, accuracy_replication=0.9 - of_models["gap"]
        )
        tables[row.pair, row.matching] = of_models
    return verdicts(rows, tables, margin=margin)


def found(*args, **kwargs):
    """Finding and strength of the three claims."""
    (one,) = judged(gaps(*args, **kwargs))
    return [(claim.finding, str(claim.strength)) for claim in one.claims]


class TestStrength:
    @pytest.mark.parametrize(
        ("gap", "se", "expected"),
        [
            # One interval excludes 0 above 1.96 standard errors, four together above 2.498.
            (1.9 * SE, SE, ("open", "inconclusive")), (2.0 * SE, SE, ("loss", "suggested")),
            (2.49 * SE, SE, ("loss", "suggested")), (2.5 * SE, SE, ("loss", "established")),
            (-2.5 * SE, SE, ("gain", "established")),
            (0.001, 0.003, ("small", "established")),  # 0.1 + 2.5 × 0.3 < 1
            (0.001, 0.004, ("small", "suggested")),  # 0.1 + 1.96 × 0.4 < 1 < 0.1 + 2.5 × 0.4
            (0.001, 0.006, ("open", "inconclusive")),
            (0.0, 1e-17, ("open", "inconclusive")),
        ],
    )  # fmt: skip
    def test_of_a_difference_and_of_none_that_matters(self, gap, se, expected):
        assert found(gap, se=se)[0] == expected

    def test_more_pairs_need_wider_intervals(self):
        rows = [gaps(2.5 * SE, pair=f"p{i}") for i in range(3)]
        strengths = [one.claims[0].strength for one in judged(*rows)]
        assert strengths == [Strength.SUGGESTED] * 3  # 2.87 for twelve claims

    def test_what_is_left_needs_both_estimates(self):
        assert found(0.05, matched=0.05)[3] == ("loss", "established")
        assert found(0.05, matched=0.05, left=0.0)[3][0] == "open"
        assert found(0.05, matched=0.05, left=-0.05)[3][0] == "open"
        assert found(0.05, matched=0.05, binning_bound=0.05)[3][0] == "open"
        assert found(0.05, matched=0.05, fraction_unmatched=0.6)[3] == ("loss", "suggested")

    @pytest.mark.parametrize(("one", "n_groups"), [(False, 10), (True, 20)])
    def test_few_groups_establish_nothing(self, one, n_groups):
        """Means of groups in one set only are skewed, and nothing in the other balances that."""
        known = {"groups_in_one": one}
        assert found(0.05, n_groups=n_groups - 1, **known)[0] == ("loss", "suggested")
        assert found(0.05, n_groups=n_groups, **known)[0] == ("loss", "established")

    def test_few_errors_establish_nothing(self):
        """Of images that are all right, resamples say that they always are."""
        few = gaps(0.0, se=0.001, n_original=40)  # four errors
        (verdict,) = judged(few)
        assert verdict.claims[0].strength is Strength.SUGGESTED
        assert "fewer than 5" in verdict.claims[0].reason

    @pytest.mark.parametrize(
        ("after", "se", "expected"),
        [
            (0.9, SE, ("loss", "established")),  # few errors, but counts are compared exactly
            (0.0, 0.0, ("loss", "established")), (1.0, 0.0, ("small", "suggested")),
        ],
    )  # fmt: skip
    def test_sets_that_are_all_right_or_all_wrong(self, after, se, expected):
        row = gaps(1.0 - after, se=se)
        models = pd.DataFrame([row]).assign(accuracy_original=1.0, accuracy_replication=after)
        claim = verdicts([row], {("p", "probability"): models})[0].claims[0]
        assert (claim.finding, claim.strength) == expected
        if se == 0:  # 0.37 points of 1,000 images, and half of that of 2,000
            assert 0 < claim.high - claim.low < 0.01

    def test_a_minority_of_models_establishes_nothing(self):
        left = {"n_models": 1, "n_left_out": 1}
        models = [gaps(0.05), gaps(0.05)]
        claim = judged(gaps(0.05, matched=0.05, **left), models=models)[0].claims[3]
        assert (claim.finding, claim.strength) == ("loss", "suggested")
        assert "(matched gap of 1 of 2 models)" in claim.text

    def test_resamples_of_groups_spread_too_little(self):
        one, other = (Evidence.of_interval(0.0, -1.96, 1.96, n_groups=n) for n in (0, 5))
        assert (one.error, other.error) == pytest.approx((1.0, math.sqrt(5 / 4)))
        low, high = other.joint_interval(0.95, 1)
        assert high == pytest.approx(2.776 * math.sqrt(5 / 4), abs=1e-3)  # t of 4 degrees
        assert low == -high

    @pytest.mark.slow
    def test_share_of_reports_that_are_wrong(self):
        """Four true nulls in each of 1,000 reports, by the normal distribution."""
        rng = np.random.default_rng(0)
        wrong = 0
        for *draw, new in rng.normal(scale=SE, size=(1000, 4)):
            name, half = "overconfidence_replication", 1.96 * SE
            ends = {f"{name}_low": new - half, f"{name}_high": new + half}
            claims = found(*draw, **{name: new}, **ends)
            wrong += any(strength == "established" for _, strength in claims)
        assert wrong / 1000 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 1000)


class TestModels:
    def test_those_that_disagree_are_named(self):
        models = {"a": 0.05, "b": -0.05, "c": 0.001, "d": 0.05}
        rows = pd.DataFrame([gaps(value) for value in models.values()], index=list(models))
        (verdict,) = judged(gaps(0.0003), models=rows)
        accuracy = verdict.claims[0]
        assert (accuracy.finding, accuracy.strength) == ("mixed", "established")
        assert "of b rises by 5.0 points [3.8, 6.2]; c may not" in accuracy.text
        assert verdict.models == Counts(("a", "d"), ("b",), 4)

    def test_holm_counts_them(self):
        """Of the p-values, 0.0083 is shared out: a third of a half of 5 %, for three models."""
        z = [3.0, 2.9, 1.0]  # p: 0.0027, 0.0037, 0.3; thresholds 0.0028, 0.0042, 0.0083
        models = [gaps(value * SE, paired=True) for value in z]
        (verdict,) = judged(gaps(0.015), models=models)
        assert verdict.models.lost == ("0", "1")

    def test_accuracies_on_independent_images_are_counted_exactly(self):
        """Of 2,000 and 1,000 images, 200 and 140 wrong: p = 0.0016 by Fisher's test."""
        models = [gaps(0.04, se=0.001), gaps(0.0, se=0.001)]
        (verdict,) = judged(gaps(0.02), models=models)
        assert fisher(1800, 2000, 860, 1000) == pytest.approx(0.0016, abs=1e-4)
        assert verdict.models.lost == ("0",)

    @pytest.mark.parametrize("counts", [(8, 8, 0, 8), (5, 8, 5, 8), (990, 1000, 480, 500)])
    def test_the_exact_test(self, counts):
        right, n, other, other_n = counts
        tails = hypergeom(n + other_n, right + other, n)
        p = 2 * min(tails.cdf(right), tails.sf(right - 1))
        assert fisher(*counts) == pytest.approx(min(1, p))

    def test_their_calibration_is_mixed_unless_few_differ_in_sign(self):
        def judge(*over):
            rows = [gaps(0.0, old=value) for value in over]
            models = pd.DataFrame(rows, index=[f"m{i}" for i in range(len(over))])
            (verdict,) = judged(gaps(0.0, old=float(np.mean(over))), models=models)
            return verdict

        verdict = judge(*[0.05] * 9, -0.05)
        most, over = verdict.claims[1], tuple(f"m{i}" for i in range(9))
        assert verdict.calibration == CalibrationCounts(over, ("m9",), 10)
        assert most.finding == "overconfident"
        assert "9 of the 10 models are overconfident" in most.text
        assert judge(0.05, -0.05).claims[1].finding == "mixed"


class TestConfidence:
    def test_it_warns_only_if_its_mean_falls(self):
        """Errors of high confidence move the part of a gap as if confidence fell."""
        row = gaps(0.1, 0.05, 0.05, confidence_fall=-0.02, confidence_fall_low=-0.03,
                   confidence_fall_high=-0.01)  # fmt: skip
        claim = judged(row)[0].claims[2]
        assert (claim.finding, claim.strength) == ("open", "inconclusive")
        assert "2.0 points higher on new [1.0, 3.0]" in claim.reason
        ends = {"confidence_fall_low": 0.0012, "confidence_fall_high": 0.0248}
        claim = judged(gaps(0.1, 0.05, 0.05, confidence_fall=0.013, **ends))[0].claims[2]
        assert (claim.finding, claim.strength) == ("loss", "suggested")

    def test_all_of_a_loss_is_said_only_if_none_that_matters_is_left(self):
        def text(*args, **kwargs):
            return judged(gaps(*args, **kwargs))[0].claims[2].text

        assert "all of this loss" in text(0.05, 0.05, 0.0, se=0.003)
        assert "all of this loss" not in text(0.05, 0.05, 0.0, se=0.0045)  # left is not shown
        assert "all of this loss" not in text(0.05, 0.046, 0.004, se=0.003)  # 0.4 + 0.7 > 1
        assert "all of" not in text(0.0098, 0.0098, 0.0, se=0.0041, n_groups=9)


class TestWords:
    @pytest.mark.parametrize(
        ("row", "said"),
        [
            (gaps(0.05, 0.03, 0.02), "Accuracy falls by 5.0 points [3.8, 6.2] on new, from 90.0"),
            (gaps(0.05, 0.03, 0.02), "Lower confidence explains 3.0 [1.8, 4.2] of the 5.0 points "),
            (gaps(0.05, matched=np.nan, left=0.0), "unknown: no target was matched."),
        ],
    )
    def test_sentences(self, row, said):
        (verdict,) = judged(row)
        assert said in " ".join(claim.text for claim in verdict.claims)

    @pytest.mark.parametrize(
        ("row", "step"),
        [
            # An error of (2.5 + 0.84) × 0.6 = 2 points by 1/2000 + 1/1000, as of 1,333 each; 6 %
            # more as accuracy then is lower.
            (gaps(0.0), "to establish a loss of 1 point, about 5,700 in each set (80 %"),
            (gaps(0.0, se=0.04), "a loss of 5 points, about 12,000 in each set; of 1 point, about"),
            # Calibration on the new set comes first.
            (gaps(0.05, 0.0, 0.05), "overstates accuracy there by 5.0 points [3.8, 6.2]"),
        ],
    )
    def test_next_steps(self, row, step):
        (verdict,) = judged(row)
        assert step in verdict.next_step


def predicted(method, value, reason="", **others):
    row = {"target": "t", "method": method, "variant": "", "title": method.upper(), "n": 1000}
    row |= {"accuracy_base": 0.9, "n_fitted": 5, "predicted": value, "reason": reason}
    row |= {"groups_low": math.nan, "groups_high": math.nan, "n_groups": 0}
    return row | {"predicted_low": value - 0.02, "predicted_high": value + 0.02} | others


LARGE = predicted("nuclear_norm", 0.6)


class TestRecommendation:
    @pytest.mark.parametrize(
        ("rows", "method", "reason"),
        [
            ([predicted("ac", 0.3), predicted("doc_feat", 0.84), predicted("atc_mc", 0.8)],
             "atc_mc", ""),
            ([predicted("atc_mc", 0.9), predicted("ac_temperature", 0.85)], "atc_mc", ""),
            # COTT and scaled confidence check ATC where there are logits, DoC-Feat only without.
            ([predicted("doc_feat", 0.91), predicted("ac_temperature", 0.84),
              predicted("cott", 0.8), predicted("atc_mc", 0.82)], "atc_mc", ""),
            ([predicted("ac_temperature", 0.84), predicted("cott", 0.78),
              predicted("atc_mc", 0.82)], "", "(ATC_MC, COTT, AC_TEMPERATURE) give 78 to 84 %"),
            # What cannot be fitted is not recommended.
            ([predicted("atc_mc", 1.0, accuracy_base=1.0)], "", "tell nothing of errors"),
            # A regression comes first unless it extrapolates.
            ([predicted("atc_mc", 0.8), predicted("doc", 0.7), LARGE], "nuclear_norm", ""),
            ([predicted("doc", 0.7), LARGE, predicted("cot_fitted", 0.5)], "cot_fitted",
             "and has their class frequencies; it lies between them"),
            ([predicted("doc", 0.7), predicted("nuclear_norm", 0.6, EXTRAPOLATED)], "",
             "extrapolates to 60 %"),
            # Its interval is over groups of sets.
            ([LARGE | {"groups_low": 0.55, "groups_high": 0.7, "n_groups": 4}], "nuclear_norm",
             "within [55.0, 70.0] % (jackknife+, 4 groups of sets)"),
        ],
    )  # fmt: skip
    def test_which_method(self, rows, method, reason):
        (one,) = recommend(rows)
        assert one.method == method
        assert reason in one.reason
        if method:
            row = next(row for row in rows if row["method"] == method)
            assert (one.predicted, one.strength) == (row["predicted"], "assumed")
        else:
            assert math.isnan(one.predicted)
            assert one.strength == "inconclusive"
            assert "Label 385 random datapoints" in one.next_step

    def test_every_target_has_one(self):
        rows = [predicted("atc_mc", float("nan")), predicted("doc_feat", float("nan"))]
        both = [*rows, *(row | {"target": "u"} for row in rows)]
        assert [(one.target, one.method) for one in recommend(both)] == [("t", ""), ("u", "")]
