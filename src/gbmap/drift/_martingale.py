"""A test martingale on p-values, which may be looked at as often as one likes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gbmap._utils.typing import Array, IntArray

# Bets that pay kappa p^(kappa - 1): the smallest wins on a few rows that are far off, the largest on a slight
# surplus of small p-values. Chosen with _PATIENCE on absolute values of normal draws, whose scale changes.
_KAPPAS = np.array([0.1, 0.3, 0.5, 0.7, 0.85, 0.95])
_PATIENCE = 100.0  # the rows after which half of the capital, about, has been brought into play
_SMALLEST = 1e-300  # a p-value of zero would win everything


@dataclass
class Martingale:
    """A capital that no bet on uniform p-values can be expected to raise.

    The capital of one unit waits in a reserve r(t) = 1 / (1 + log(1 + t / 100)). With each row, r(t - 1) -
    r(t) of it is shared out among the bets, and what is in play is multiplied by kappa p^(kappa - 1), whose
    mean is one if p is uniform given all before. The capital, reserve and all, is then a martingale that
    begins with one and is never negative: by Ville's inequality the chance that it ever reaches 1 / a is at
    most a, over all rows to come. Bets that begin with every row are a mixture over the times at which a
    change may come, so that little has been lost when it does.

    A sum of logarithms of a bet, taken from where it was lowest, is Page's CUSUM; the row after that is the
    likeliest beginning of a change, by that bet.

    Attributes
    ----------
    n : int
        The number of p-values.
    in_play : array of shape (b,)
        The logarithm of the capital of each bet.
    log_peak : float
        The logarithm of the largest capital so far.
    rises : array of shape (b,)
        How far the sum of the logarithms of each bet is above its lowest.
    starts : integer array of shape (b,)
        The row from which on it rose.
    """

    n: int
    in_play: Array
    log_peak: float
    rises: Array
    starts: IntArray

    @classmethod
    def new(cls) -> Martingale:
        """Return the martingale before the first p-value."""
        n_bets = len(_KAPPAS)
        return cls(0, np.full(n_bets, -np.inf), 0.0, np.zeros(n_bets), np.zeros(n_bets, dtype=np.intp))

    def bet(self, p: float, row: int) -> None:
        """Play one round on a p-value, that of a row with a number."""
        brought = (_reserve(self.n) - _reserve(self.n + 1)) / len(_KAPPAS)
        gains = np.log(_KAPPAS) + (_KAPPAS - 1.0) * np.log(max(p, _SMALLEST))
        self.in_play = np.logaddexp(self.in_play, np.log(brought)) + gains
        self.n += 1
        self.log_peak = max(self.log_peak, self.log_capital)
        self.starts = np.where(self.rises > 0.0, self.starts, row)
        self.rises = np.maximum(self.rises + gains, 0.0)

    @property
    def log_capital(self) -> float:
        """The logarithm of the capital: zero at the beginning."""
        return float(np.logaddexp.reduce(np.append(self.in_play, np.log(_reserve(self.n)))))

    @property
    def since(self) -> int:
        """The row at which a change is likeliest to have begun, if there was one."""
        return int(self.starts[np.argmax(self.rises)])


def _reserve(n: int) -> float:
    return float(1.0 / (1.0 + np.log1p(n / _PATIENCE)))
