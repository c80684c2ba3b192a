"""A fit that fails leaves the estimator as it was: the earlier fit, if there was one, stays whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

Fit = TypeVar("Fit", bound=Callable[..., Any])


@contextmanager
def undone_on_failure(estimator: Any, unless: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Bring back the attributes of an estimator if what follows fails, unless it has come far enough."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        if not unless():
            # What callbacks need to be torn down is scikit-learn's to remove.
            callbacks = {name: each for name, each in vars(estimator).items() if "callback" in name}
            estimator.__dict__ = before | callbacks
        raise


def whole_or_undone(fit: Fit) -> Fit:
    """Make a method one whose failure leaves its estimator as it was."""

    @wraps(fit)
    def wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
        with undone_on_failure(self):
            return fit(self, *args, **kwargs)

    return wrapped  # type: ignore[return-value]
