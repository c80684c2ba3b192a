"""Which tests are for every run, and which for a run at night."""

import pytest


@pytest.hookimpl(tryfirst=True)  # before those of the night are left out
def pytest_collection_modifyitems(items):
    """Leave all but a share of the cases of a `sampled` test to the night.

    Those stay whose positions in the lists of their parameters add up to a multiple of the share: two values
    still meet if the other lists are long enough to make up the sum.
    """
    for item in items:
        sampled = item.get_closest_marker("sampled")
        if sampled is not None and _sum_of_positions(item) % sampled.args[0]:
            item.add_marker("nightly")


def _sum_of_positions(item):
    names = [mark.args[0] for mark in item.iter_markers("parametrize")]
    first = [(name.split(",") if isinstance(name, str) else name)[0].strip() for name in names]
    return sum(item.callspec.indices[name] for name in first)
