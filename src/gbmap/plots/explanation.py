"""ExplanationDisplay: why a model predicts what it does for one row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from gbmap._core.arrays import in_memory
from gbmap._drawing import BarDisplay
from gbmap._drawing.axes import cut, fit_text
from gbmap._drawing.display import Display
from gbmap._fitted.model import FittedModel
from gbmap._fitted.results import one_row
from gbmap._utils.sampling import sample_rows
from gbmap._utils.scikit_learn import num_samples, safe_indexing
from gbmap.inspection import attributions, explain
from gbmap.plots._arguments import check_count, output_label, take_row, values_of, written

_BACKGROUND_ROWS = 500  # of X, to compare a row with if no baseline is given


@dataclass(repr=False, eq=False)
class ExplanationDisplay(Display):
    """One row's explanation as bars, the largest on top, each with the value that the row has.

    Parameters
    ----------
    values : array of shape (p,)
        What each feature adds, or its coefficient.
    feature_names : sequence of p names
    inputs : sequence of p values, default=None
        The row itself.
    base_value : float, default=None
        What the values add to; features beyond the largest then share one bar, so that all bars add up.
        None for coefficients, which do not add up.
    value_label : str, default=""
        What the values are.

    See Also
    --------
    gbmap.inspection.attributions : The numbers of many rows, which ``plot`` one without its values.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from gbmap import GBMAPRegressor
    >>> from gbmap.plots import ExplanationDisplay
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = GBMAPRegressor(n_components=4, random_state=0).fit(X, y)
    >>> display = ExplanationDisplay.from_estimator(model, X, row=3)
    >>> total = display.base_value + display.values.sum()
    >>> bool(abs(total - model.predict(X)[3]) < 1e-9)
    True
    >>> plt.close(display.figure_)
    """

    values: Any
    feature_names: Any
    inputs: Any = None
    base_value: float | None = None
    value_label: str = ""

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        *,
        row: int = 0,
        kind: str = "attributions",
        baseline: Any = None,
        output: Any = None,
        random_state: int = 0,
        **drawing: Any,
    ) -> Self:
        """Draw the explanation of one row.

        Parameters
        ----------
        model : GBMAPRegressor, GBMAPClassifier, or a pipeline or search that ends in one
            Fitted. Through a pipeline the answer is in the columns of X as given.
        X : array-like or frame of shape (n, p)
        row : int, default=0
            The position of the row to explain.
        kind : {"attributions", "coefficients"}, default="attributions"
            What each feature adds over the baseline; or the local linear model, per standard deviation of
            a feature.
        baseline : array-like, default=None
            For attributions, the row or rows to compare with. None is X itself, or 500 of its rows.
        output : default=None
            The class, or the number of the target, if the model has several outputs.
        random_state : int, default=0
            Seeds the choice of rows if there is no baseline.
        **drawing
            Passed on to `plot`: ``ax``, ``n_features``, ``bar_kwargs``.

        Returns
        -------
        display : ExplanationDisplay
        """
        if kind not in ("attributions", "coefficients"):
            raise ValueError(f'kind must be "attributions" or "coefficients", got {kind!r}.')
        fitted, X = FittedModel.of(model), in_memory(X)
        what = output_label(fitted, fitted.output_index(output))
        asked = take_row(X, row, "row")
        found: Any
        if kind == "attributions":
            found = attributions(model, asked, _background(X, baseline, random_state))
            base_value = float(one_row(found.base_values, 0, output, found.output_names))
            values, label = found.values, f"added to the {what}"
        else:
            found = explain(model, asked, standardized=True)
            base_value, values = None, found.coefficients
            label = f"change of the {what}\nper standard deviation of a feature"
        return cls(
            values=one_row(values, 0, output, found.output_names),
            feature_names=found.feature_names,
            inputs=values_of(fitted, asked),
            base_value=base_value,
            value_label=label,
        ).plot(**drawing)

    def plot(self, ax: Any = None, *, n_features: int = 10, bar_kwargs: dict[str, Any] | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            None makes a figure.
        n_features : int, default=10
            The most features with a bar of their own.
        bar_kwargs : dict, default=None
            Passed on to ``ax.barh``.

        Returns
        -------
        self : ExplanationDisplay
        """
        most = check_count("n_features", n_features)
        values = np.asarray(self.values, dtype=np.float64)
        bars = BarDisplay.largest(values, self._names(), most, self.value_label)
        if self.base_value is not None and len(values) > most:
            rest = values.sum() - bars.values.sum()
            bars.values = np.append(bars.values, rest)
            bars.names = [*bars.names, f"{len(values) - most} others together"]
        bars.plot(ax, bar_kwargs=bar_kwargs)
        if self.base_value is not None:
            end = self.base_value + values.sum()
            told = f"baseline {written(self.base_value)}, this row {written(end)}"
            fit_text(bars.ax_, bars.ax_.set_title(told, fontsize="medium", loc="right"))
        return self._drawn_on(bars.ax_)

    def _names(self) -> list[str]:
        if self.inputs is None:
            return [str(name) for name in self.feature_names]
        return [f"{cut(name, 28)} = {written(value)}" for name, value in zip(self.feature_names, self.inputs)]


def _background(X: Any, baseline: Any, random_state: int) -> Any:
    if baseline is not None:
        return baseline
    if num_samples(X) < 2:
        raise ValueError(
            "baseline must be given if X has one row, since there is nothing to compare it with."
        )
    return safe_indexing(X, sample_rows(num_samples(X), _BACKGROUND_ROWS, random_state))
