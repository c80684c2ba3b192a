"""A batch beside the reference rows: how far predictions have moved, by which features, and where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import repeat
from typing import Any

import numpy as np
from scipy.stats import wasserstein_distance

from gbmap._drawing import BarDisplay
from gbmap._fitted.results import frame, of_one, one_row, output_column, squeeze
from gbmap._utils.plain import plain
from gbmap._utils.scikit_learn import num_samples
from gbmap._utils.shown import Result, Shown, cell, largest_first, percents
from gbmap._utils.text import counted
from gbmap._utils.typing import Array, IntArray
from gbmap.drift._calibration import Calibration, Measures, Outcome
from gbmap.drift._drifter import Drifter
from gbmap.drift._facts import NewClasses
from gbmap.drift._gauge import Gauge
from gbmap.drift._groups import Groups
from gbmap.drift._inference import shift_p_values
from gbmap.drift._judging import Evidence, Settings, judge
from gbmap.drift._monitored import ScoredRows, chunks
from gbmap.drift._sides import Side
from gbmap.drift.constants import ConstantColumn
from gbmap.drift.loss_estimate import LossEstimate
from gbmap.drift.verdict import DriftVerdict

_PARTS = ("summary", "features", "coordinates", "regions")
_OF_ONE = {  # names of columns whose attribute is a plural
    "shifts": "shift",
    "distances": "distance",
    "half_spaces": "half_space",
    "descriptions": "description",
    "contributions": "contribution",
}


@dataclass(frozen=True, repr=False)
class CoordinateShifts(Result):
    """How far each coordinate f_j of the embedding has moved, in units of y.

    There are M = K m of them for K outputs and m components, in the order of the columns of ``transform``.

    Attributes
    ----------
    names : array of str of shape (M,)
        What the coordinates are called: "f1", "f2", ..., as ``get_feature_names_out`` tells.
    shifts : array of shape (M,)
        The mean of f_j over the batch less that over the reference; those of an output add up to its shift.
    distances : array of shape (M,)
        W1(f_j), the Wasserstein distance between batch and reference: at least the size of the shift.
    half_spaces : array of str of shape (M,)
        Where the learner is active, in words, as in `gbmap.inspection.LearnerCards`, by the reference rows.
    outputs : integer array of shape (M,)
        The position of the output that a coordinate adds to.

    Examples
    --------
    >>> import numpy as np
    >>> from gbmap import DriftDetector, GBMAPRegressor
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> model = GBMAPRegressor(2, random_state=0).fit(X, X[:, 0])
    >>> drift = DriftDetector(model).fit(X, X[:, 0]).assess(X + 1)
    >>> bool(np.isclose(drift.coordinates.shifts.sum(), drift.shift))
    True
    """

    names: Array
    shifts: Array
    distances: Array
    half_spaces: Array
    outputs: IntArray

    def _shown(self) -> Shown:
        columns = {"coordinate": self.names, "shift": self.shifts, "distance": self.distances}
        table = largest_first(self.shifts, **columns, half_space=self.half_spaces)
        return Shown(counted(len(self.names), "coordinate"), table)


@dataclass(frozen=True, repr=False)
class RegionShifts(Result):
    """Rows, error and drift by region: by which learners are active, for each output.

    An output has at most 20 regions of its own, those with the largest share of the rows of the batch or
    of the reference, the largest first. Then come two more: "other patterns", and "never seen" for rows of
    the batch with a pattern that no reference row has. Shares add up to one in each output.

    Attributes
    ----------
    outputs : integer array of shape (R,)
        The position of the output.
    active_learners : array of str of shape (R,)
        The names of the output's active learners, such as "f1, f4"; empty for the last two regions.
    descriptions : array of str of shape (R,)
        The region in words, as in `gbmap.inspection.Regions`, by the reference rows.
    n_rows, share : arrays of shape (R,)
        Rows of the batch, and their share.
    n_reference_rows, reference_share : arrays of shape (R,)
        Rows of the reference, and their share.
    mean_indicator : array of shape (R,)
        The mean drift indicator of the batch; NaN without rows, as are the next two.
    mean_loss : array of shape (R,) or None
        The mean loss of the batch, averaged over outputs; None without y.
    prediction_shift : array of shape (R,)
        The mean of h = f - f_0 over the rows of the batch less that over the reference rows.
    contributions : array of shape (R,)
        What the region adds to the shift, because its rows or their share have changed: the sum of h, less
        its reference mean, over rows of the batch, divided by all of them, less the same of the reference.
        Those of an output add up to its shift.

    Examples
    --------
    >>> import numpy as np
    >>> from gbmap import DriftDetector, GBMAPRegressor
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> model = GBMAPRegressor(2, random_state=0).fit(X, X[:, 0])
    >>> drift = DriftDetector(model).fit(X, X[:, 0]).assess(X + 1)
    >>> int(drift.regions.n_rows.sum()), str(drift.regions.descriptions[-1])
    (300, 'never seen')
    """

    outputs: IntArray
    active_learners: Array
    descriptions: Array
    n_rows: Array
    share: Array
    n_reference_rows: Array
    reference_share: Array
    mean_indicator: Array
    mean_loss: Array | None
    prediction_shift: Array
    contributions: Array

    def _shown(self) -> Shown:
        table = largest_first(
            self.contributions,
            share=self.share,
            reference_share=self.reference_share,
            contribution=self.contributions,
            description=self.descriptions,
        )
        return Shown(f"{counted(len(self.share), 'region')}, by what they add to the shift", table)


@dataclass(frozen=True, repr=False)
class DriftAssessment(Result):
    """What a batch of rows tells about drift, without labels unless they were given.

    h = f - f_0 is the prediction less that of ``init``, if the model has one; for classes it is the score
    (log-odds), for a foreign model its own prediction. "Per output" is a float for one output, an array of
    shape (K,) for K of them.

    Attributes
    ----------
    n_rows, n_reference_rows : int
    share_over_threshold : float or None
        The share of rows that raise the alarm; None without a threshold.
    calibration_share_over_threshold : float or None
        That of the calibration rows; None without them.
    shift : float, per output
        The mean of h over the batch less that over the reference rows, in units of y.
    standard_error : float, per output
        Of the difference that is tested. The variance of a batch counts as at least that of the rows beside:
        few rows say little about it, and one row nothing.
    delta : float, per output
        The largest shift that is tolerated, in units of y.
    p_value : float, per output
        For the hypothesis that the true shift is at most delta, of either sign: the largest chance of a
        shift of at least the size seen, by Student's t. However many rows there are, it does not become
        small for a shift below delta. The batch is compared with the calibration rows, since the fit has
        pinned the mean of the others; without them with the reference rows, and p-values are too small then.
    confidence : float
    verdict : DriftVerdict or None
        Whether the model can still be trusted on these rows, as `DriftDetector.verdict` tells; None without
        calibration rows.
    distance : float, per output
        W1(f), the Wasserstein distance of h between batch and reference, in units of y: at least ``|shift|``.
        Both this and the next are above zero for two samples of the same distribution.
    coordinate_distance : float, per output
        The sum of W1(f_j) over the coordinates of an output: at least ``|shift|``, but no bound of W1(f). For
        a foreign model it bounds ``shift - remainder``.
    contributions : array of shape (p,), or (p, K) for K outputs
        The share of each feature in the shift, adding up to ``shift - remainder``: the mean over the batch
        of integrated gradients from the mean reference row, less that over the reference rows. For a linear
        model, the coefficient times the change of the feature's mean.
    remainder : float, per output
        What the predictions of a foreign model shift otherwise than those of the GBMAP fitted to it; zero
        for a GBMAP.
    coordinates : CoordinateShifts
    regions : RegionShifts
    unseen_share : float, per output
        The share of rows with a pattern of active learners that no reference row has.
    expected_unseen_share : float, per output
        What to expect of it without drift: the share of reference rows whose pattern no other one has.
    expected_loss, expected_loss_interval : float and tuple of two, or None
        The mean loss to expect without labels, as by `DriftDetector.estimate_loss`, with an interval of the
        confidence given; None without calibration rows.
    calibration_loss : float or None
        The mean loss of the calibration rows.
    mean_loss : float or None
        The mean loss of the batch; None without y.
    feature_names : array of shape (p,)
    output_names : array of shape (K,) or None
        Classes, or numbers of targets; None for one output.

    Examples
    --------
    >>> import numpy as np
    >>> from gbmap import DriftDetector, GBMAPRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> y = np.abs(X[:, 0]) + 0.1 * rng.normal(size=500)
    >>> detector = DriftDetector(GBMAPRegressor(4, random_state=0), random_state=0).fit(X, y)
    >>> detector.assess(X[:200] + [0, 0, 2]).p_value > 0.5  # the third column does not matter
    True
    >>> drift = detector.assess(X[:200] + [2, 0, 0])
    >>> drift.verdict.degree, str(drift.feature_names[drift.contributions.argmax()])
    ('act', 'x0')
    """

    n_rows: int
    n_reference_rows: int
    share_over_threshold: float | None
    calibration_share_over_threshold: float | None
    shift: Any
    standard_error: Any
    delta: Any
    p_value: Any
    confidence: float
    verdict: DriftVerdict | None
    distance: Any
    coordinate_distance: Any
    contributions: Array
    remainder: Any
    coordinates: CoordinateShifts
    regions: RegionShifts
    unseen_share: Any
    expected_unseen_share: Any
    expected_loss: float | None
    expected_loss_interval: tuple[float, float] | None
    calibration_loss: float | None
    mean_loss: float | None
    feature_names: Array
    output_names: Array | None

    def _shown(self) -> Shown:
        known = f"{counted(self.n_rows, 'row')} beside {counted(self.n_reference_rows, 'reference row')}"
        about = f"{known}, shift {cell(self.shift)}"
        if self.verdict is not None:
            about = f"{self.verdict.degree}; {about}"
        about += f" (p-value {cell(self.p_value)})"
        if self.share_over_threshold is not None:
            about += f", {percents(self.share_over_threshold)} of rows raise the alarm"
        if self.expected_loss is not None:
            about += f", expected loss {cell(self.expected_loss)}"
        sizes = np.abs(self.contributions.reshape(len(self.feature_names), -1)).sum(axis=1)
        table = largest_first(sizes, feature=self.feature_names, contribution=self.contributions)
        return Shown(about, table)

    def to_frame(self, part: str = "summary") -> Any:
        """Return a part of the assessment as a pandas frame.

        Parameters
        ----------
        part : {"summary", "features", "coordinates", "regions"}, default="summary"
            The numbers about the whole batch, a row per output; or what each feature, coordinate or region
            adds to the shift, a row for each of them.

        Returns
        -------
        frame : pandas.DataFrame
        """
        if part not in _PARTS:
            raise ValueError(f"part must be one of {list(_PARTS)}, got {part!r}.")
        if part == "features":
            outputs = ["contribution"] if self.output_names is None else list(self.output_names)
            of_features = self.contributions.reshape(len(self.feature_names), -1)
            return frame(of_features, "feature", self.feature_names, columns=outputs)
        if part == "summary":
            alone = self.output_names is None
            return frame(self._summary(), *((None, range(1)) if alone else ("output", self.output_names)))
        table = self.coordinates if part == "coordinates" else self.regions
        columns = {each.name: getattr(table, each.name) for each in fields(table)}
        position = columns.pop("outputs")
        labels = columns.pop("names", range(len(position)))
        known = {_OF_ONE.get(name, name): each for name, each in columns.items()}
        return frame(output_column(position, self.output_names) | known, part.removesuffix("s"), labels)

    def _summary(self) -> dict[str, Any]:
        """Return the numbers about the whole batch, NaN for those that are not known."""
        lower, upper = self.expected_loss_interval or (None, None)
        numbers = {
            each.name: getattr(self, each.name)
            for each in fields(self)
            if each.name
            not in ("contributions", "coordinates", "regions", "expected_loss_interval", "verdict")
            and not each.name.endswith("_names")
        }
        numbers |= {"expected_loss_lower": lower, "expected_loss_upper": upper}
        return {name: np.nan if number is None else number for name, number in numbers.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, texts, lists and dictionaries, as JSON has them.

        Returns
        -------
        assessment : dict
            A key per attribute; None for what is not known, such as the mean loss of no rows.
        """
        return plain(self)

    def plot(self, *, output: Any = None, n_features: int = 12, ax: Any = None) -> BarDisplay:
        """Draw the contributions of the features as bars, the largest first.

        Parameters
        ----------
        output : default=None
            The output, if there are several.
        n_features : int, default=12
            The most bars.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        display : BarDisplay
        """
        shares = one_row(self.contributions[None], 0, output, self.output_names)
        rest = one_row(np.asarray(self.remainder)[None], 0, output, self.output_names)
        values, names = shares, list(self.feature_names)
        if rest:
            values, names = np.append(shares, rest), [*names, "remainder"]
        label = "share in the shift of the mean prediction"
        return BarDisplay.largest(values, names, n_features, label).plot(ax=ax)


def assess_rows(
    gauge: Gauge,
    X: Any,
    y: Array | None,
    new_classes: NewClasses | None,
    settings: Settings,
    constants: Sequence[ConstantColumn],
) -> DriftAssessment:
    """Assess a batch of rows of the user's; see `DriftDetector.assess`."""
    settings.check()
    drifter, calibration, alarm = gauge.reference("assess"), gauge.known, gauge.alarm
    monitored, fitted = drifter.monitored, drifter.monitored.fitted
    feature_names = fitted.feature_names  # followed back before anything else is computed
    batch, measures, outcome = _read_batch(drifter, X, y)
    losses = None if outcome is None else outcome.losses
    indicators, alarms = measures.indicators(alarm.distance_weight), alarm.raised(measures)
    reference, columns = drifter.reference, monitored.columns_in(X)
    evidence = Evidence(batch.scores, measures, alarms, outcome, columns, constants, new_classes)
    level = settings.level
    estimate = None if calibration is None else gauge.estimate(measures, 1 - level)
    verdict = None if estimate is None else judge(gauge, evidence, estimate, settings)
    return DriftAssessment(
        n_rows=len(indicators),
        n_reference_rows=len(reference.scores),
        share_over_threshold=None if alarms is None else float(alarms.mean()),
        calibration_share_over_threshold=None
        if calibration is None or alarms is None
        else gauge.n_calibration_alarms / len(calibration.losses),
        **_test(batch, reference, calibration, settings.delta * drifter.neighbours.values.std(axis=0)),
        confidence=1 - level,
        verdict=verdict,
        **_contributions(drifter, batch, reference),
        **_regions(drifter, batch, reference, indicators, losses),
        **_expected_loss(calibration, estimate),
        mean_loss=None if outcome is None else float(outcome.known.losses.mean()),
        feature_names=feature_names,
        output_names=monitored.output_names,
    )


def _read_batch(drifter: Drifter, X: Any, y: Array | None) -> tuple[Side, Measures, Outcome | None]:
    """Read the rows once, chunk by chunk; there is no outcome without y."""
    measures, outcomes = list[Measures](), list[Outcome | None]()

    def parts() -> Iterator[ScoredRows]:
        for rows, labels in zip(chunks(X), repeat(None) if y is None else chunks(y)):
            scored, measured, outcome = drifter.read_and_measure(rows, labels)
            measures.append(measured)
            outcomes.append(outcome)
            yield scored

    side = drifter.side(num_samples(X), parts())
    known = [outcome for outcome in outcomes if outcome is not None]
    return side, Measures.join(measures), Outcome.join(known) if known else None


def _test(batch: Side, reference: Side, calibration: Calibration | None, delta: Array) -> dict[str, Any]:
    """Return the shift of each output, and what speaks against its being at most delta, (K,)."""
    held_out = reference.scores if calibration is None else calibration.scores
    held_out = reference.scores if held_out is None else held_out
    n, n_before = len(batch.scores), len(held_out)
    spreads = batch.variance, held_out.var(axis=0, ddof=min(1, n_before - 1))
    size = np.abs(batch.mean - held_out.mean(axis=0))
    p_values, error = shift_p_values(size, delta, spreads, (n, n_before))
    return {
        "shift": of_one(batch.mean - reference.mean),
        "standard_error": of_one(error),
        "delta": of_one(delta),
        "p_value": of_one(p_values),
    }


def _contributions(drifter: Drifter, batch: Side, reference: Side) -> dict[str, Any]:
    """Return how the shift splits, by feature and by coordinate, and how far distributions have moved."""
    fitted, shares = drifter.monitored.fitted, batch.shares - reference.shares
    of_inputs, distances = fitted.ensemble.sum_outputs(shares), _distances(batch.phi, reference.phi)
    remainder = np.zeros(fitted.ensemble.n_outputs)
    if drifter.monitored.foreign is not None:
        remainder = batch.mean - reference.mean - of_inputs.sum(axis=0)
    return {
        "distance": of_one(_distances(batch.scores, reference.scores)),
        "coordinate_distance": of_one(fitted.ensemble.sum_outputs(distances[None])[0]),
        "contributions": squeeze(fitted.columns.collect(of_inputs[None])[0]),
        "remainder": of_one(remainder),
        "coordinates": CoordinateShifts(
            names=drifter.monitored.coordinate_names,
            shifts=shares.sum(axis=0),
            distances=distances,
            half_spaces=drifter.half_spaces,
            outputs=fitted.ensemble.outputs,
        ),
    }


def _distances(values: Array, reference: Array) -> Array:
    """Return the Wasserstein distance between each column and that of the reference."""
    return np.array([wasserstein_distance(*columns) for columns in zip(values.T, reference.T)])


def _expected_loss(calibration: Calibration | None, expected: LossEstimate | None) -> dict[str, Any]:
    if calibration is None or expected is None:
        return {"expected_loss": None, "expected_loss_interval": None, "calibration_loss": None}
    return {
        "expected_loss": expected.mean,
        "expected_loss_interval": (expected.mean_lower, expected.mean_upper),
        "calibration_loss": float(calibration.losses.mean()),
    }


def _regions(
    drifter: Drifter,
    batch: Side,
    reference: Side,
    indicators: Array,
    losses: Array | None,
) -> dict[str, Any]:
    """Return the table of regions of all outputs, and the share of rows in none of them."""
    n_outputs, names = batch.scores.shape[1], drifter.monitored.coordinate_names
    groups = [Groups.of(*patterns) for patterns in zip(batch.patterns, reference.patterns)]
    tables = [
        group.table(drifter.teller, names[k::n_outputs])
        | group.means(indicators, losses)
        | group.shifts(batch.scores[:, k], reference.scores[:, k])
        | {"outputs": np.full(len(group.patterns) + 2, k)}
        for k, group in enumerate(groups)
    ]
    columns: dict[str, Any] = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
    return {
        "regions": RegionShifts(**{"mean_loss": None, **columns}),
        "unseen_share": of_one(np.array([group.unseen_share for group in groups])),
        "expected_unseen_share": of_one(np.array([group.expected_unseen_share for group in groups])),
    }
