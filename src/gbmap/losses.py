"""The losses, and `Loss`, the base class of one of your own.

Examples
--------
>>> import numpy as np
>>> from gbmap import GBMAPRegressor
>>> from gbmap.losses import Loss
>>> class LogCosh(Loss):
...     def value(self, y, f):
...         return np.log(np.cosh(y - f))
...     def gradient(self, y, f):
...         return np.tanh(f - y)
>>> X = np.linspace(-1, 1, 50)[:, None]
>>> model = GBMAPRegressor(n_components=3, loss=LogCosh(), random_state=0).fit(X, abs(X[:, 0]))
>>> bool(model.loss_curve_[-1] < 0.1 * model.loss_curve_[0])
True
"""

from gbmap._core.losses import (
    Exponential,
    Hinge,
    Huber,
    LogLoss,
    Loss,
    Quantile,
    SquaredError,
)

__all__ = ["Exponential", "Hinge", "Huber", "LogLoss", "Loss", "Quantile", "SquaredError"]
