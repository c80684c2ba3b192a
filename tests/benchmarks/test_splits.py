"""How problems are cut into training and test rows."""

import numpy as np
import pandas as pd
import pytest

from benchmarks import splits


@pytest.mark.parametrize("may_differ", [(), ("Age",)])
def test_rows_of_one_thing_stay_on_one_side(monkeypatch, may_differ):
    thing = np.repeat(np.arange(40.0), 5)
    age = np.tile(np.arange(5.0), 40) if may_differ else thing
    frame = pd.DataFrame({"Thing": thing, "Age": age})
    known = splits.Rows(frame, thing + np.arange(200) / 1000, "regression", synthetic=False)
    monkeypatch.setattr(splits, "load", lambda name, seed=0: known)
    monkeypatch.setitem(splits.REPEATING, "wine-red", may_differ)
    cut = splits.split(splits.apart("wine-red"), 0, 0.3)
    mixed = splits.split("wine-red", 0, 0.3)
    assert len(cut.test.y) == len(mixed.test.y) == 60
    assert not shared(cut)
    assert shared(mixed)


def shared(cut):
    """Return the things, by the first of their standardised columns, that are on both sides."""
    return set(cut.train.X[:, 0].round(9)) & set(cut.test.X[:, 0].round(9))
