"""A reader who goes by the words for rows, and knows the table alone."""

import re

import numpy as np
import pytest


def _condition(words, X):
    """Return which rows of a frame satisfy a condition."""
    if match := re.fullmatch(r"(.+) is missing", words):
        return X[match[1]].isna().to_numpy()
    if match := re.fullmatch(r"(.+) is (one|none) of (.+)", words):
        return (X[match[1]].isin(match[3].split(", ")) == (match[2] == "one")).to_numpy()
    if match := re.fullmatch(r"(.+) is (not )?(.+)", words):
        return ((X[match[1]].astype(str) == match[3]) == (match[2] is None)).to_numpy()
    if match := re.fullmatch(r"(\S+) < (.+) <= (\S+)", words):
        low, high = (float(match[k].replace(",", "")) for k in (1, 3))
        return ((X[match[2]] > low) & (X[match[2]] <= high)).to_numpy()
    name, sign, limit = re.fullmatch(r"(.+) (>|<=) (\S+)", words).groups()
    limit = float(limit.replace(",", ""))
    return (X[name] > limit if sign == ">" else X[name] <= limit).to_numpy()


def _read(words, X):
    if words.split(",")[0] in ("everywhere", "nearly everywhere", "nowhere"):
        return np.full(len(X), words != "nowhere")
    joint = " or " if " or " in words else " and "
    held = [_condition(part, X) for part in words.split(joint)]
    return np.any(held, axis=0) if joint == " or " else np.all(held, axis=0)


@pytest.fixture(scope="session")
def read_words():
    """Return what tells the rows of a frame for which words hold."""
    return _read
