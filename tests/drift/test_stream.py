"""Evidence over time is exact: p-values are uniform and independent, however few rows calibrate."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import kstest

from gbmap.drift._martingale import Martingale
from gbmap.drift._stream import Stream, block_means
from gbmap.drift._urn import Urn

KINDS = {
    "continuous": lambda rng, n: rng.standard_t(2, size=n) ** 2,
    "ties": lambda rng, n: rng.integers(0, 3, size=n).astype(float),
    "infinite": lambda rng, n: np.where(rng.random(n) < 0.4, np.inf, rng.normal(size=n)),
    "constant": lambda rng, n: np.zeros(n),
}


def p_values(n_calibration, n_rows, kind, seed):
    rng = np.random.default_rng(seed)
    urn = Urn.of(KINDS[kind](rng, n_calibration), rng.random(n_calibration), 0.0)
    return [urn.p_value(score, *rng.random(2)) for score in KINDS[kind](rng, n_rows)]


def stream_of(calibration, seed=0, block=1):
    return Stream.of(seed, block, calibration, [""] * len(calibration), 0.0)


def feed(stream, scores, first=0, season=""):
    stream.add(np.asarray(scores, float), np.arange(first, first + len(scores)), [season] * len(scores))
    return stream.martingale


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_calibration", [0, 1, 20, 2000])
def test_p_values_are_uniform_whatever_the_scores_and_however_few_calibrate(n_calibration, kind):
    found = [p_values(n_calibration, 40, kind, seed) for seed in range(60)]
    assert kstest(np.concatenate(found), "uniform").pvalue > 1e-3
    means = np.mean(found, axis=1)  # of independent ones they would spread by this, of dependent ones by more
    assert means.std() == pytest.approx(np.sqrt(1 / 12 / 40), rel=0.35)


@pytest.mark.nightly
def test_against_the_calibration_rows_alone_the_same_bets_find_drift_where_there_is_none():
    rng, lives = np.random.default_rng(0), [[], []]
    for seed in range(30):
        calibration, rows = rng.normal(size=20), rng.normal(size=2000)
        static = Martingale.new()
        above = (calibration[:, None] >= rows).sum(axis=0)
        for k, p in enumerate((above + rng.random(2000)) / 21):
            static.bet(p, k)
        lives[0].append(static.log_peak)
        lives[1].append(feed(stream_of(calibration, seed), rows).log_peak)
    false_alarms = [np.mean(np.array(peaks) >= np.log(1 / 0.2)) for peaks in lives]
    assert false_alarms[0] > 0.35
    assert false_alarms[1] <= 0.3  # 0.2 is the level; 30 lives let it be 0.3 by chance


def test_the_capital_is_expected_to_stay():
    def begun():
        return replace(Martingale.new(), n=50, in_play=np.linspace(-2, 1, 6))

    def weighed(x):  # p = exp(-x), of density p
        martingale = begun()
        martingale.bet(np.exp(-x), 50)
        return np.exp(martingale.log_capital - x)

    mean, _ = quad(weighed, 0, 600, limit=200)
    assert mean == pytest.approx(np.exp(begun().log_capital), rel=1e-6)


def test_a_change_is_found_and_dated():
    rng = np.random.default_rng(2)
    stream = stream_of(rng.normal(size=300) ** 2)
    assert feed(stream, rng.normal(size=4000) ** 2).log_peak < np.log(20)
    martingale = feed(stream, (3 * rng.normal(size=60)) ** 2, first=4000)
    assert martingale.log_peak > np.log(20)
    assert 3960 < martingale.since < 4030


@pytest.mark.parametrize("cuts", [[1] * 97, [50, 47], [3, 0, 90, 4]])
@pytest.mark.parametrize("block", [1, 4])
def test_any_cut_into_batches_gives_the_same_bits(cuts, block):
    rng = np.random.default_rng(2)
    calibration, scores = rng.integers(0, 9, size=50).astype(float), rng.integers(0, 12, size=97)
    whole, parts = (stream_of(calibration, 3, block) for _ in range(2))
    feed(whole, scores)
    for start, n in zip(np.cumsum([0, *cuts]), cuts):
        feed(parts, scores[start : start + n], first=start)
    assert parts.martingale.log_capital == whole.martingale.log_capital
    assert parts.martingale.since == whole.martingale.since
    assert parts.waiting == whole.waiting
    assert set(parts.martingale.starts % block) == {0}


def test_many_calibration_rows_take_bounded_memory_and_tell_the_tail_apart():
    urn = Urn.of(np.arange(100_000.0), np.zeros(100_000), 0.0)
    assert len(urn.counts) < 1000
    assert urn.counts.sum() == 100_001
    assert urn.p_value(99_990.5, 0.5, 0.5) == pytest.approx(9.5 / 100_001)


def test_scores_that_differ_by_rounding_are_equal():
    urn = Urn.of(np.array([1.0, 2.0, 2.0, 3.0]), np.array([0.5, 0.2, 0.8, 0.5]), 1e-6)
    low, high = (urn.p_value(2.0 + 5e-7 * side, 0.5, 1.0) for side in (-1, 1))
    assert low == 2 / 5
    assert high == 2 / 6  # the place between the two of them, each time


def test_rows_are_ranked_within_their_season():
    rng = np.random.default_rng(4)
    calibration = np.concatenate([rng.normal(0, 1, 300), rng.normal(50, 1, 300)])
    stream = Stream.of(0, 1, calibration, ["night"] * 300 + ["day"] * 300, 0.0)
    for k in range(0, 2000, 100):
        feed(stream, rng.normal(50, 1, 100), k, "day")  # of which a mixed reference would be half as full
        feed(stream, rng.normal(0, 1, 100), k, "night")
        feed(stream, rng.normal(99, 1, 5), k, "never seen before")
    assert stream.martingale.log_peak < np.log(20)
    assert feed(stream, rng.normal(50, 1, 30), 2000, "night").log_peak > np.log(20)


def test_blocks_hold_the_level_for_rows_that_depend_on_those_before_them():
    rng = np.random.default_rng(5)
    peaks = {1: [], 50: []}
    for seed in range(20):
        noise = rng.normal(size=4000)
        series = np.zeros(4000)
        for k in range(1, 4000):
            series[k] = 0.9 * series[k - 1] + noise[k]
        for block, found in peaks.items():
            stream = stream_of(series[:2000], seed, block)
            found.append(feed(stream, series[2000:]).log_peak)
    is_false = {block: np.mean(np.array(found) > np.log(20)) for block, found in peaks.items()}
    assert is_false[50] <= 0.15
    assert is_false[1] > 0.4


def test_block_means_leave_out_what_fills_no_block():
    assert block_means(np.arange(7.0), 3).tolist() == [1.0, 4.0]
