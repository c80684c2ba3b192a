"""What a search passes on to the model that it has chosen."""

from __future__ import annotations

from typing import Any

from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gbmap._utils.typing import Array


class PassesOn(TransformerMixin):  # type: ignore[misc]
    """What is asked of a fitted search and answered by its ``best_estimator_``."""

    best_estimator_: Any

    def predict(self, X: Any) -> Any:
        """Return the prediction of the chosen model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        y : array of shape (n_samples,) or (n_samples, n_targets)
        """
        return self._fitted().predict(X)

    def transform(self, X: Any) -> Any:
        """Return the embedding by the chosen model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        phi : array of shape (n_samples, ``n_components_`` * n_outputs)
        """
        return self._fitted().transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the coordinates, as `GBMAPRegressor` gives them.

        Parameters
        ----------
        input_features : array-like of str, default=None
            The names of the columns of X. They change nothing, but must be those of the fit.

        Returns
        -------
        names : array of str of shape (``n_components_`` * n_outputs,)
        """
        return self._fitted().get_feature_names_out(input_features)

    def _fitted(self) -> Any:
        check_is_fitted(self)
        return self.best_estimator_

    @property
    def n_features_in_(self) -> int:
        """The number of columns of X."""
        return int(self._of_best("n_features_in_"))

    @property
    def feature_names_in_(self) -> Array:
        """The names of the columns of X, if they had any."""
        return self._of_best("feature_names_in_")

    @property
    def ensemble_(self) -> Any:
        """The learners of the chosen model."""
        return self._of_best("ensemble_")

    @property
    def l2_regularization_(self) -> Any:
        """The ridge of the last learner of each output of the chosen model."""
        return self._of_best("l2_regularization_")

    @property
    def feature_importances_(self) -> Array:
        """How much each column adds to the chosen model's prediction, as in `GBMAPRegressor`."""
        return self._of_best("feature_importances_")

    def _of_best(self, name: str) -> Any:
        if "best_estimator_" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no {name} before it is fitted.")
        return getattr(self.best_estimator_, name)

    def __sklearn_is_fitted__(self) -> bool:
        return "best_estimator_" in vars(self)
