"""What all rooms take for missing, and how results become JSON."""

import json
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from gbmap._utils.missing import is_missing
from gbmap._utils.plain import plain
from gbmap._utils.sampling import sample_rows
from gbmap._utils.text import number
from gbmap.report.contents.columns import _categories


@pytest.mark.parametrize(
    "value", [None, float("nan"), np.float32("nan"), np.datetime64("NaT", "s"), pd.NaT, pd.NA], ids=repr
)
def test_marks_of_missing_values_are_known(value):
    assert is_missing(value)


@pytest.mark.parametrize("value", ["nan", "None", "", 0, False, np.inf, np.array([1.0, np.nan])], ids=repr)
def test_texts_and_numbers_are_not_missing(value):
    assert not is_missing(value)


def test_a_category_may_be_called_none_on_the_page():
    column = _categories(0, np.array(["a", "None", None, np.nan, "a"], dtype=object))
    assert (column.levels, column.values) == (["a", "None"], [0, 1, None, None, 0])


def test_results_become_strict_json():
    @dataclass
    class Found:
        names: tuple
        values: np.ndarray

    found = {1: Found(("a", 2.5, np.str_("b"), "\udcff"), np.array([[1.0, np.inf], [np.nan, 2]]))}
    text = json.dumps(plain(found), allow_nan=False, ensure_ascii=False)
    assert json.loads(text.encode()) == {
        "1": {"names": ["a", 2.5, "b", "?"], "values": [[1.0, None], [None, 2.0]]}
    }


def test_rows_are_drawn_once_each_and_in_order():
    rows = sample_rows(1000, 10, 0)
    assert len(set(rows)) == 10
    assert (np.diff(rows) > 0).all()
    assert sample_rows(3, 10, 0).tolist() == [0, 1, 2]


def test_large_numbers_are_shown_as_people_read_them():
    shown = [number(each) for each in (26890.4, -12345.0, 9999.7, 1234.5, 0.012345, 5e6, 3.2e12, 20000, None)]
    assert shown == ["26,890", "-12,345", "10,000", "1,234", "0.01235", "5,000,000", "3.2e+12", "20,000", "-"]
