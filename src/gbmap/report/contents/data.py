"""The data itself: what columns hold, training rows beside new ones, and which columns go together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from gbmap._fitted.column_values import categories
from gbmap._fitted.model import dense
from gbmap._utils.frames import columns_of, names_of
from gbmap._utils.missing import is_missing
from gbmap._utils.sampling import sample_rows
from gbmap._utils.typing import Array
from gbmap.report._material import Material, Rows
from gbmap.report._rounding import rounded, significant
from gbmap.report.contents.associations import Ranks, association, rank_correlations
from gbmap.report.contents.columns import is_category, numbers, scales

_MOST_COLUMNS = 60
_CELLS, _FEWEST_ROWS, _MOST_ROWS = 1_000_000, 2_000, 20_000  # of either table that are looked at
_BINS, _FEW_VALUES = 20, 32  # the hours of a day and the days of a month have a bar each
_BEYOND = 0.005  # the share of rows on either side that the first and the last bin take in
_MOST_LEVELS, _MOST_CODES = 8, 30  # categories with a bar; and told apart when columns are compared
_COMPARED_ROWS, _COMPARED_COLUMNS = 2_000, 40
_CLOSE, _MOST_PAIRS = 0.5, 10
_CHANGED, _MOST_CHANGES = 0.02, 12  # the share of rows by which a category must have changed to be told


@dataclass(frozen=True)
class Numbers:
    """The numbers of one column in one table; None where there is none."""

    least: float | None
    median: float | None
    mean: float | None
    greatest: float | None


@dataclass(frozen=True)
class DataColumn:
    """A column, in each table that is looked at."""

    feature: int | None  # its position among the names of the features; None for the target
    kind: str  # "number", "date" (its numbers are days since 1970) or "category"
    unit: str  # of its numbers, such as "kg" or "EUR", if the table says so
    n_distinct: int  # values, in the first table
    missing: list[float | None]  # shares of rows
    numbers: list[Numbers] | None  # None for a category
    # The edges of bins, the first and the last of which hold all beyond; or the most frequent categories,
    # perhaps with "(other)" at the end.
    edges: list[Any] | None
    levels: list[str] | None
    shares: list[list[Any]]  # of the rows that have a value, in each bin or of each category
    # How far the tables differ: the largest gap between the shares of rows up to a number, or half the sum of
    # the gaps of categories, missing values among them. None for one table.
    difference: float | None
    association: float | None  # with the target: see `associations`


@dataclass(frozen=True)
class CategoryChange:
    """A category whose share of rows has changed."""

    feature: int
    level: str
    shares: list[float | None]
    change: float
    is_unseen: bool  # whether the fit has not seen it


@dataclass(frozen=True)
class Pair:
    """Two columns that go together."""

    features: list[int]
    correlation: float | None  # of their ranks


@dataclass(frozen=True)
class Dropped:
    """A column of the table that the model does without."""

    name: str
    reason: str


@dataclass(frozen=True)
class Reading:
    """How the values of a column were read that are not written as programs write them."""

    name: str
    reading: str  # an example


@dataclass(frozen=True)
class Data:
    """The tables, column by column."""

    kinds: list[str]  # of tables: "training", if its rows are there, and "new", if there are any
    n_rows: list[int]  # rows that were looked at
    n_given: list[int]
    # Columns by kind, those beyond the ones below too; a date is one column.
    n_numbers: int
    n_categories: int
    n_dates: int
    incomplete: list[float | None]  # shares of rows that lack a value, in the columns below
    target: DataColumn | None  # None if it is not known
    columns: list[DataColumn]  # the most important first
    changes: list[CategoryChange]  # the largest first
    pairs: list[Pair]  # of numbers among the most important columns, the closest first
    dropped: list[Dropped]
    readings: list[Reading]
    n_without_target: int  # rows of the table that the fit had to leave out


def study_data(material: Material, tables: list[Rows], order: Array) -> Data:
    """Say what the most important columns hold; others are compared with the first table."""
    features = order[:_MOST_COLUMNS].tolist()
    most = int(np.clip(_CELLS // max(len(features), 1), _FEWEST_ROWS, _MOST_ROWS))
    tables = [rows.sample(most, np.random.default_rng(0)) for rows in tables]
    columns = _columns(material, tables, features)
    target, units = _target(material, tables), _units(material)
    compared = sample_rows(len(tables[0]), _COMPARED_ROWS, 0)
    ranks = {feature: column.ranks(compared) for feature, column in columns.items()}
    of_target = None if target is None else target.ranks(compared)
    known = categories(material.fitted)
    changes = [
        each
        for feature, column in columns.items()
        for each in column.changes(feature, {str(level) for level in known.get(feature, ())})
    ]
    lacking = [np.logical_or.reduce(each) for each in zip(*(column.missing for column in columns.values()))]
    return Data(
        kinds=[rows.kind for rows in tables],
        n_rows=[len(rows) for rows in tables],
        n_given=[rows.n_given for rows in tables],
        **_counts(material, columns),
        incomplete=[significant(rows.mean()) for rows in lacking],
        target=None if target is None else target.told(None, None, units.get(None, "")),
        columns=[
            column.told(
                feature,
                None if of_target is None else association(ranks[feature], of_target),
                units.get(feature, ""),
            )
            for feature, column in columns.items()
        ],
        changes=sorted(changes, key=lambda each: -abs(each.change))[:_MOST_CHANGES],
        pairs=_pairs(ranks),
        **_of_table(material),
    )


@dataclass(frozen=True)
class _Column:
    """The values of a column in each table: numbers, NaN where missing; or codes of categories, -1 there."""

    values: list[Array]
    kind: str
    levels: list[str]  # of all tables, the most frequent first; none for numbers

    @classmethod
    def of(cls, raw: list[Array], kind: str) -> _Column:
        if kind != "category":
            return cls([numbers(each) for each in raw], kind, [])
        named = [[None if is_missing(value) else str(value) for value in each.tolist()] for each in raw]
        shares: Counter[str] = Counter()
        for names in named:
            counts = Counter(name for name in names if name is not None)
            shares |= Counter({name: n / len(names) for name, n in counts.items()})  # the larger of both
        levels = [name for name, _ in shares.most_common()]
        code = {name: i for i, name in enumerate(levels)} | {None: -1}
        return cls([np.array([code[name] for name in names], dtype=int) for names in named], kind, levels)

    @cached_property
    def missing(self) -> list[Array]:
        """Which rows lack a value, in each table."""
        return [each < 0 if self.kind == "category" else ~np.isfinite(each) for each in self.values]

    @cached_property
    def known(self) -> list[Array]:
        """The values that are there, in each table."""
        return [each[~gaps] for each, gaps in zip(self.values, self.missing)]

    def told(self, feature: int | None, with_target: float | None, unit: str) -> DataColumn:
        is_category = self.kind == "category"
        edges = None if is_category else _edges(self.known)
        counts = self._of_levels() if edges is None else [_in_bins(each, edges) for each in self.known]
        shown = self.levels[:_MOST_LEVELS]
        return DataColumn(
            feature=feature,
            kind=self.kind,
            unit=unit,
            n_distinct=len(np.unique(self.known[0])),
            missing=[significant(each.mean()) for each in self.missing],
            numbers=None if is_category else [_numbers(each) for each in self.known],
            edges=None if edges is None else rounded(edges, digits=3),
            levels=([*shown, "(other)"] if len(self.levels) > len(shown) else shown) if is_category else None,
            shares=[rounded(each / max(each.sum(), 1), spread=1.0) for each in counts],
            difference=significant(self._difference(), 3),
            association=significant(with_target, 3),
        )

    def _of_levels(self) -> list[Array]:
        n_shown = min(_MOST_LEVELS, len(self.levels)) + (len(self.levels) > _MOST_LEVELS)
        return [np.bincount(np.minimum(each, n_shown - 1), minlength=n_shown) for each in self.known]

    def _difference(self) -> float | None:
        if len(self.values) < 2 or not all(map(len, self.known)):
            return None
        if self.kind == "category":
            n_levels = len(self.levels) + 1  # missing values are one
            was, now = (np.bincount(each + 1, minlength=n_levels) / len(each) for each in self.values)
            return float(np.abs(now - was).sum() / 2)
        places, sides = np.unique(np.concatenate(self.known)), [np.sort(each) for each in self.known]
        up_to = [np.searchsorted(side, places, side="right") / len(side) for side in sides]
        return float(np.abs(up_to[0] - up_to[1]).max())

    def changes(self, feature: int, known: set[str]) -> Iterator[CategoryChange]:
        """Yield the categories whose shares have changed by more than chance brings."""
        if self.kind != "category" or len(self.values) < 2 or not all(map(len, self.values)):
            return
        sizes = [len(each) for each in self.values]
        counts = [np.bincount(each[each >= 0], minlength=len(self.levels)) for each in self.values]
        was, now = (count / size for count, size in zip(counts, sizes))
        both = (counts[0] + counts[1]) / sum(sizes)
        noise = np.sqrt(both * (1 - both) * (1 / sizes[0] + 1 / sizes[1]))
        for k in np.flatnonzero(np.abs(now - was) > np.maximum(_CHANGED, 3 * noise)).tolist():
            is_unseen = counts[0][k] == 0 and self.levels[k] not in known
            shares = [significant(was[k], 4), significant(now[k], 4)]
            yield CategoryChange(feature, self.levels[k], shares, float(now[k] - was[k]), is_unseen)

    def ranks(self, rows: Array) -> Ranks:
        """Return some rows of the first table, to be compared with other columns."""
        values = self.values[0][rows]
        if self.kind == "category":
            return Ranks.of_codes(np.minimum(values, _MOST_CODES - 1))
        return Ranks.of_numbers(values)


def _columns(material: Material, tables: list[Rows], features: list[int]) -> dict[int, _Column]:
    raw = [_raw(material, rows.X, features) for rows in tables]
    counted = scales(material)
    found = {}
    for feature, *values in zip(features, *raw):
        kind = "date" if counted[feature] == "days" else "number"
        kind = "category" if is_category(material, feature, values[0]) else kind
        found[feature] = _Column.of(values, kind)
    return found


def _raw(material: Material, X: Any, features: list[int]) -> list[Array]:
    """Return columns as the user gave them."""
    if scipy.sparse.issparse(X):
        return list(dense(X[:, features]).T)
    if not hasattr(X, "columns"):
        return list(np.asarray(X)[:, features].T)
    names, columns = names_of(X), columns_of(X)
    known = [material.fitted.feature_names[k] for k in features]
    places = [names.index(name) if name in names else k for name, k in zip(known, features)]
    return [np.asarray(columns[place].to_numpy()) for place in places]


def _target(material: Material, tables: list[Rows]) -> _Column | None:
    if tables[0].y is None:
        return None
    unknown = np.array([None], dtype=object)
    raw = [np.repeat(unknown, len(rows)) if rows.y is None else np.asarray(rows.y) for rows in tables]
    return _Column.of(raw, "category" if material.is_classifier else "number")


def _counts(material: Material, columns: dict[int, _Column]) -> dict[str, Any]:
    if material.table is not None:
        kinds = Counter(column.kind for column in material.table.schema_.used)
    else:
        others = np.where(material.fitted.columns.is_number, "number", "category").tolist()
        kinds = Counter(columns[k].kind if k in columns else other for k, other in enumerate(others))
    return {"n_numbers": kinds["number"], "n_categories": kinds["category"], "n_dates": kinds["date"]}


def _units(material: Material) -> dict[int | None, str]:
    """Return the units of features, and of the target as None, that are written in the raw table."""
    if material.table is None:
        return {}
    schema, names = material.table.schema_, list(material.fitted.feature_names)
    found: dict[int | None, str] = {None: schema.target_form.unit}
    found |= {names.index(each.name): each.form.unit for each in schema.used if each.name in names}
    return {k: unit for k, unit in found.items() if unit not in ("", "%", "any")}


def _of_table(material: Material) -> dict[str, Any]:
    """Return what became of the raw table that the rows come from, if they do."""
    if material.table is None:
        return {"dropped": [], "readings": [], "n_without_target": 0}
    schema = material.table.schema_
    read = [(schema.target, schema.target_reading), *((each.name, each.reading) for each in schema.used)]
    return {
        "dropped": [Dropped(column.name, column.reason) for column in schema.dropped],
        "readings": [Reading(name, reading) for name, reading in read if reading],
        "n_without_target": int(schema.n_without_target),
    }


def _edges(known: list[Array]) -> Array:
    """Return the edges of bins: one for each of a few whole numbers, else equally wide ones.

    Bins of whole numbers hold equally many of them, or those with one more would stand out.
    """
    values = np.concatenate(known)
    if not len(values):
        return np.empty(0)
    ends = np.array(
        [np.quantile(each, [_BEYOND, 1 - _BEYOND], method="nearest") for each in known if len(each)]
    )
    low, high = ends[:, 0].min(), ends[:, 1].max()
    if np.array_equal(values, np.round(values)):
        if np.ptp(values) < _FEW_VALUES:
            return np.arange(values.min(), values.max() + 2) - 0.5
        n = high - low + 1
        if n < _BINS**2:  # the last bin reaches as little beyond the last number as can be
            widths = [math.ceil(n / n_bins) for n_bins in range(_BINS, _BINS // 2, -1)]
            width = min(widths, key=lambda width: -n % width / width)
            return low - 0.5 + width * np.arange(math.ceil(n / width) + 1)
    return np.linspace(low, high, _BINS + 1) if high > low else np.array([low - 0.5, low + 0.5])


def _in_bins(values: Array, edges: Array) -> Array:
    n_bins = max(len(edges) - 1, 0)
    return np.bincount(np.searchsorted(edges[1:-1], values, side="right"), minlength=n_bins)[:n_bins]


def _numbers(values: Array) -> Numbers:
    if not len(values):
        return Numbers(None, None, None, None)
    return Numbers(
        *(significant(each) for each in (values.min(), np.median(values), values.mean(), values.max()))
    )


def _pairs(ranks: dict[int, Ranks]) -> list[Pair]:
    """Return the pairs of numbers that are close."""
    features = [k for k, each in ranks.items() if each.is_number][:_COMPARED_COLUMNS]
    if len(features) < 2:
        return []
    found = np.nan_to_num(np.triu(rank_correlations([ranks[k] for k in features]), 1))
    first, second = np.nonzero(np.abs(found) >= _CLOSE)
    order = np.argsort(-np.abs(found[first, second]), kind="stable")[:_MOST_PAIRS]
    return [
        Pair([features[i], features[j]], significant(found[i, j], 3))
        for i, j in zip(first[order], second[order])
    ]
