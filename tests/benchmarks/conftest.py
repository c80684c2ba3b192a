import sys
from pathlib import Path

# The benchmarks are run from the root of the repository and not installed.
sys.path.insert(0, str(Path(__file__).parents[2]))
