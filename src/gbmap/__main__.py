"""``python -m gbmap``, the same as ``gbmap``."""

import sys

from gbmap.cli import main

if __name__ == "__main__":
    sys.exit(main())
