"""Two models of tables on the rows of a third one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gbmap._fit.initial import class_score
from gbmap._utils.typing import Array
from gbmap.cli._errors import UsageError
from gbmap.cli._models import frames_of, open_data
from gbmap.cli._sample import Sample
from gbmap.cli._screen import Screen
from gbmap.inspection import ModelDifference, model_difference

_SECOND = "\0"  # before the names of the second model's features, while they travel with the first's


def compare(
    first: Any, second: Any, data: Path, screen: Screen, *, n_components: int, max_rows: int, seed: int
) -> dict[str, Any]:
    """Return where and how far two models disagree on the rows of a table."""
    classes = _shared_classes(first, second)
    sample = _read(first, second, data, max_rows, screen)
    of_second = sample.features.columns.str.startswith(_SECOND)
    X = sample.features.loc[:, ~of_second]
    X_second = sample.features.loc[:, of_second].rename(columns=lambda name: name.removeprefix(_SECOND))
    new = [name for name in X_second.columns if name not in X.columns]
    found = model_difference(
        _scores(first, X),
        _scores(second, X_second),
        X.join(X_second[new]),
        n_components=n_components,
        random_state=seed,
    )
    return {
        "rows": sample.n_rows,
        "rows_compared": len(X),
        "unit": "units of the target" if classes is None else "log-odds",
        **_document(found, classes),
    }


def _shared_classes(first: Any, second: Any) -> Array | None:
    """Return the classes of both models, None if they predict numbers."""
    of_first, of_second = (getattr(each.model_, "classes_", None) for each in (first, second))
    if (of_first is None) != (of_second is None):
        raise UsageError(
            "MODEL and MODEL2 must predict numbers both, or classes both; one of them does each."
        )
    if of_first is None or of_second is None:
        return None
    if not np.array_equal(of_first, of_second):
        lists = (", ".join(map(str, classes)) for classes in (of_first, of_second))
        raise UsageError(f"MODEL and MODEL2 must know the same classes, got {' and '.join(lists)}.")
    return np.asarray(of_first)


def _read(first: Any, second: Any, data: Path, max_rows: int, screen: Screen) -> Sample:
    from gbmap.tables import TableError

    sample, table = Sample(max_rows), open_data(data, first)
    with screen.progress() as progress:
        for frame in frames_of(table, "reading", progress):
            both = first.features(frame).join(second.features(frame).add_prefix(_SECOND))
            sample.add(both, None)
    if sample.n_rows < 2:
        raise TableError(f"{table.label} has 1 row; a difference needs 2 of them at least.")
    return sample


def _scores(model: Any, features: Any) -> Array:
    """Return predictions, or log-odds of classes."""
    pipeline = model.model_
    return class_score(pipeline, features) if hasattr(pipeline, "classes_") else pipeline.predict(features)


def _document(found: ModelDifference, classes: Array | None) -> dict[str, Any]:
    n_outputs = len(np.atleast_1d(found.faithfulness))
    names = [None] if n_outputs == 1 else list(np.arange(n_outputs) if classes is None else classes)
    differences = found.difference.reshape(len(found.difference), -1)
    outputs = [
        {
            "output": name,
            "mean": differences[:, k].mean(),
            "mean_absolute": np.abs(differences[:, k]).mean(),
            "largest": np.abs(differences[:, k]).max(),
            "faithfulness": np.atleast_1d(found.faithfulness)[k],
            "held_out_faithfulness": np.atleast_1d(found.held_out_faithfulness)[k],
            "agreeing_share": np.atleast_1d(found.agreement.share)[k],
            "difference_there": np.atleast_1d(found.agreement.mean)[k],
        }
        for k, name in enumerate(names)
    ]
    half_spaces = [
        {
            "output": names[found.outputs[j]],
            "half_space": words,
            "sign": found.signs[j],
            "coverage": found.coverage[j],
            "mean_difference": found.mean_difference[j],
            "explained": found.explained[j],
        }
        for j, words in enumerate(found.half_spaces)
    ]
    return {"outputs": outputs, "half_spaces": half_spaces}
