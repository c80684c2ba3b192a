import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# The benchmarks are run from the root of the repository and not installed.
sys.path.insert(0, str(ROOT))
if sys.platform == "win32":
    collect_ignore_glob = ["test_*.py"]  # the benchmarks lock and limit as POSIX does, and are not run there


@pytest.fixture
def measured():
    """Return the folder of the measured rows."""
    results = ROOT / "benchmarks" / "results"
    if not results.exists():
        pytest.skip("a source distribution has no measured rows")
    return results
