"""The table of the paper's real data sets: where each comes from, and how to know it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Source:
    """Where a data set of the paper comes from, and how to know it when it is here.

    `sha256` is that of NAME.csv.gz in the folder GBMAP_DATA. What comes from the public source instead is
    checked once it is clean: `n` rows, `p` features, no missing value, and the means `y_mean` and `x_level`
    (see `paper._level`) to a relative 1e-4, which leaves room for copies rounded otherwise and for little
    else. These numbers were computed from the files with that `sha256`.
    """

    sha256: str
    n: int
    p: int
    y_mean: float
    x_level: float
    # The class +1 as the public source writes it; None for regression.
    positive: str | None = None
    kind: Literal["sklearn", "openml", "uci", "folder"] = "folder"
    # A function of sklearn.datasets, an OpenML data id, or dataset/archive.zip/member at UCI.
    location: str = ""
    # UCI only, as several public projects record it; scikit-learn and OpenML's client check their own files.
    archive_sha256: str | None = None
    sep: str = ","
    decimal: str = "."
    # Names of the features where the public source has others, and those that are text; the rest are numbers.
    columns: tuple[str, ...] | None = None
    text: frozenset[str] = frozenset()


# fmt: off
SOURCES: Mapping[str, Source] = {
    "abalone": Source(
        "a69d6c77fa8d4e1216582325d5c94599bd73d13039625984fc74eaea0ccec322",
        n=4177, p=8, y_mean=9.9336845, x_level=0.35158444,
        kind="openml", location="183", text=frozenset({"Sex"}),
    ),
    "airquality": Source(
        "5529e5bf66fb3788667db045890450efab5eca62d9004acb4205c46ed406e36d",
        n=7355, p=11, y_mean=2.1121074, x_level=4.8952976,
        kind="uci", location="360/air+quality.zip/AirQualityUCI.csv",
        archive_sha256="d4a64013fb385288a8a48d9d193ca7079b2e1bbddf6f8d458feb8c08ab2b8a2a",
        sep=";", decimal=",",
    ),
    "autompg": Source(
        "587c241e47b5350e41c348ccc3ec9a0752d0dc58cbf1eadfaffcdf67368c2595",
        n=392, p=7, y_mean=23.445918, x_level=4.0323308,
        kind="openml", location="196", text=frozenset({"origin"}),
        columns=("cylinders", "displacement", "horsepower", "weight", "acceleration", "year", "origin"),
    ),
    "california": Source(
        "06fde8bf5ea1f05fd2be667424b14ef3cd65e820ff4fa8de5fceda660f689420",
        n=20640, p=8, y_mean=2.0685582, x_level=3.0147947,
        kind="sklearn", location="fetch_california_housing",
    ),
    "concrete": Source(
        "90cbb202c1681dced2d4998ffddfc6fffb8693fa7291b2dab9ea827308602c99",
        n=1030, p=8, y_mean=35.817961, x_level=4.2108363,
        kind="openml", location="44959",
        columns=(
            "Cement", "Blast Furnace Slag", "Fly Ash", "Water",
            "Superplasticizer", "Coarse Aggregate", "Fine Aggregate", "Age",
        ),
    ),
    "cpu-small": Source(
        "24e5aaec66249134adcc38920338756706c2272fe6659540fb94c4cb567bdac2",
        n=8192, p=12, y_mean=83.968872, x_level=5.501636,
        kind="openml", location="227",
    ),
    "qm9-10k": Source(
        "22c2aa12be4260cd0476048ce132c3b13f216a2662390ab1701fbc3f547141a4",
        n=10000, p=27, y_mean=-5.9171584, x_level=1.5468298,
    ),
    "superconductor": Source(
        "a64fed3b307f3050e8bca6258ec6f4df1bf076a1ff055683eaf208250dbd2110",
        n=21263, p=81, y_mean=34.421219, x_level=3.4750292,
        kind="uci", location="464/superconductivty+data.zip/train.csv",  # spelled so by UCI
        archive_sha256="87f4490d73390ff94ee01dbf0d7d32abc80b22f2c803d471765cfc46a9f6371e",
    ),
    "wine-red": Source(
        "58f902d8664b46514d61be27eb475924c55ec1a5fb7c8bf503ee2378d6503aa8",
        n=1599, p=11, y_mean=5.6360225, x_level=1.4109727,
        kind="uci", location="186/wine+quality.zip/winequality-red.csv",
        archive_sha256="3ed56667f4b828242bd732d7d1dd7f2861e54432239d7fa63877014cbb0304d4",
        sep=";",
    ),
    "wine-white": Source(
        "bc07e5971b9a815aed8c70553bd338f86b8813882f02d14c070e1fb968caa085",
        n=4898, p=11, y_mean=5.8779094, x_level=1.6085003,
        kind="uci", location="186/wine+quality.zip/winequality-white.csv",
        archive_sha256="3ed56667f4b828242bd732d7d1dd7f2861e54432239d7fa63877014cbb0304d4",
        sep=";",
    ),
    "breast-cancer": Source(
        "eea873ed0164b47c188fd62397b8fc194bd661f63cc232ce28bb36be77f19a50",
        n=569, p=30, y_mean=0.25483304, x_level=1.3770169,
        positive="1", kind="sklearn", location="load_breast_cancer",
    ),
    "diabetes": Source(
        "e96bd9344c6c55cc0d99037f3d2a83df6d9ef54180b3dc84042d91a5f478c2e4",
        n=768, p=8, y_mean=-0.30208333, x_level=2.7820824,
        positive="tested_positive", kind="openml", location="37",
    ),
    "eeg-eye-state": Source(
        "49b4c185f77ea7347d84b577cab0bd956a9129953756cdf5679f763e760fc6c4",
        n=14980, p=14, y_mean=0.1024032, x_level=8.366244,
        positive="1", kind="openml", location="1471",
        columns=("AF3", "F7", "F3", "FC5", "T7", "P7", "O1", "O2", "P8", "T8", "FC6", "F4", "F8", "AF4"),
    ),
    "german-credit": Source(
        "73fbffe2dcdfcc9287455e8ee0658cae13789678cf8d0898e6acf3bf5e1907af",
        n=1000, p=20, y_mean=0.4, x_level=2.2219469,
        positive="good", kind="openml", location="31",
        text=frozenset({
            "checking_status", "credit_history", "purpose", "savings_status", "employment", "personal_status",
            "other_parties", "property_magnitude", "other_payment_plans", "housing", "job", "own_telephone",
            "foreign_worker",
        }),
    ),
    "higgs-10k-h2o": Source(
        "fc6edc8ba9d9de38e32e0f54b301c1f94d255f04ac8669832b12550c0765253a",
        n=10000, p=28, y_mean=0.059, x_level=0.60877642,
        positive="1",
    ),
    "higgs-10k-openml-sample": Source(
        "700c79a2fc1cdd910912695cfd495d7662eb9670d95602b246ed7a23088bc76a",
        n=10000, p=28, y_mean=0.0562, x_level=0.61005485,
        positive="1",
    ),
}
# fmt: on
