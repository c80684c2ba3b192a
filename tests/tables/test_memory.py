"""Large files stream: memory stays where it is while the rows go by."""

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import gbmap
from gbmap.tables import TableModel

ROWS = 1_000_000


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A model, and a table of a million rows and 80 MB."""
    place = tmp_path_factory.mktemp("large")
    rng = np.random.default_rng(0)
    block = pd.DataFrame(rng.normal(size=(20_000, 3)).round(9), columns=[*"abc"])
    block["city"] = rng.choice(["Oslo", "Turku", "Bergen"], len(block))
    block["remark"] = "some words that only take up room"
    model = TableModel("y", n_components=2, reference_rows=100).fit(block.assign(y=block.a**2))
    gbmap.save(model, place / "model.gbmap")
    header, _, rows = block.to_csv(index=False).encode().partition(b"\n")
    with open(place / "large.csv", "wb") as file:
        file.write(header + b"\n")
        for _ in range(ROWS // len(block)):
            file.write(rows)
    return place


CODE = """
    import re, sys
    from pathlib import Path
    import pandas as pd
    import gbmap
    from gbmap.tables import open_table, write_table

    def peak():  # not that of getrusage, which begins with that of the process that started this one
        return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024

    def predictions():
        global n_rows, early
        for frame in open_table(sys.argv[1]).frames():
            yield pd.DataFrame({"y": model.predict(frame)})
            n_rows += len(frame)
            early = peak() if n_rows < 300_000 else early

    model, n_rows = gbmap.load(sys.argv[2]), 0
    print(write_table(sys.argv[3], predictions()), early, peak())
"""


@pytest.mark.nightly
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells the peak of a process")
def test_a_million_rows_are_predicted_in_bounded_memory(place):
    files = [str(place / name) for name in ("large.csv", "model.gbmap", "predicted.csv")]
    command = [sys.executable, "-c", textwrap.dedent(CODE), *files]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    n_rows, early, late = map(float, done.stdout.split())
    size = (place / "large.csv").stat().st_size / 2**20
    assert n_rows == ROWS
    assert late - early < 0.2 * size, f"{late - early:.0f} MiB more for 70 % of a file of {size:.0f} MiB"
    assert late < 1000
