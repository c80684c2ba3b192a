"""The formats: how each writes a model, reads it and predicts with it."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes

from benchmarks.damage.mutations import BINARY, FORGED, MIXED, TEXT, Mutation
from benchmarks.environment import version_of

Array = np.ndarray


def data() -> tuple[Array, Array]:
    """What every model is fitted to, and asked about."""
    X, y = load_diabetes(return_X_y=True)
    return X, y


@dataclass(frozen=True)
class Format:
    """A kind of model file.

    Attributes
    ----------
    package : str
        What must be installed.
    write : callable
        Fits a model of one of `kinds` and writes it to a path.
    load : callable
        Returns a model from a path.
    mutations : dict
        The ways to damage a file, by name.
    kinds : tuple of str
        What models to write; files are shared out among them.
    predict : callable
        Returns everything that must stay as it is, as one array.
    in_python : bool
        Whether files are read by Python and NumPy, whose allocations can be traced.
    """

    package: str
    write: Callable[[str, Path], None]
    load: Callable[[Path], Any]
    mutations: Mapping[str, Mutation]
    kinds: tuple[str, ...] = ("regressor",)
    predict: Callable[[Any, Array], Array] = lambda model, X: model.predict(X)
    in_python: bool = False

    @property
    def peer(self) -> str:
        """Name and version of the package."""
        return f"{self.package} {version_of(self.package)}"


OWN_KINDS = ("regressor", "classifier", "pipeline", "detector")


def _own(kind: str) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from gbmap import DriftDetector, GBMAPClassifier, GBMAPRegressor

    X, y = data()
    model = GBMAPRegressor(10, random_state=0)
    if kind == "classifier":
        labels = np.array(["low", "middle", "high"])[np.digitize(y, [100, 200])]
        return GBMAPClassifier(5, random_state=0).fit(X, labels)
    if kind == "pipeline":
        return make_pipeline(StandardScaler(), model).fit(X, y)
    if kind == "detector":
        return DriftDetector(model.fit(X, y)).fit(X[:150], y[:150], X_cal=X[150:300], y_cal=y[150:300])
    return model.fit(X, y)


def _own_answers(model: Any, X: Array) -> Array:
    if hasattr(model, "indicator"):
        return np.r_[model.indicator(X), model.p_values(X), model.predict(X)]
    score = model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)
    labels = [np.unique(model.predict(X), return_inverse=True)[1]] if hasattr(model, "classes_") else []
    return np.concatenate([np.ravel(part) for part in (score, model.transform(X), *labels)])


def _write_gbmap(kind: str, path: Path) -> None:
    import gbmap

    gbmap.save(_own(kind), path)


def _load_gbmap(path: Path) -> Any:
    import gbmap

    return gbmap.load(path)


def _write_pickle(kind: str, path: Path) -> None:
    path.write_bytes(pickle.dumps(_own(kind)))


def _load_pickle(path: Path) -> Any:
    return pickle.loads(path.read_bytes())


def _write_skops(kind: str, path: Path) -> None:
    from skops.io import dump

    dump(_own(kind), path)


def _load_skops(path: Path) -> Any:
    from skops.io import get_untrusted_types, load

    return load(path, trusted=get_untrusted_types(file=path))


def _write_xgboost(kind: str, path: Path) -> None:
    from xgboost import XGBRegressor

    XGBRegressor(n_estimators=20, max_depth=4, n_jobs=1).fit(*data()).save_model(path)


def _load_xgboost(path: Path) -> Any:
    from xgboost import XGBRegressor

    model = XGBRegressor(n_jobs=1)
    model.load_model(path)
    return model


def _write_lightgbm(kind: str, path: Path) -> None:
    from lightgbm import LGBMRegressor

    LGBMRegressor(n_estimators=20, n_jobs=1, verbose=-1).fit(*data()).booster_.save_model(path)


def _load_lightgbm(path: Path) -> Any:
    from lightgbm import Booster

    return Booster(model_file=path)


def _catboost(form: str) -> tuple[Callable[[str, Path], None], Callable[[Path], Any]]:
    def write(kind: str, path: Path) -> None:
        model = import_module("catboost").CatBoostRegressor(
            iterations=20, depth=4, verbose=0, thread_count=1, allow_writing_files=False
        )
        model.fit(*data()).save_model(str(path), format=form)

    def load(path: Path) -> Any:
        return import_module("catboost").CatBoostRegressor().load_model(str(path), format=form)

    return write, load


FORMATS: dict[str, Format] = {
    "gbmap": Format("gbmap", _write_gbmap, _load_gbmap, MIXED, OWN_KINDS, _own_answers, in_python=True),
    "gbmap-forged": Format(
        "gbmap", _write_gbmap, _load_gbmap, FORGED, OWN_KINDS, _own_answers, in_python=True
    ),
    "skops": Format("skops", _write_skops, _load_skops, BINARY, OWN_KINDS, _own_answers, in_python=True),
    "pickle": Format("gbmap", _write_pickle, _load_pickle, BINARY, OWN_KINDS, _own_answers, in_python=True),
    "xgboost.json": Format("xgboost-cpu", _write_xgboost, _load_xgboost, TEXT),
    "xgboost.ubj": Format("xgboost-cpu", _write_xgboost, _load_xgboost, BINARY),
    "lightgbm.txt": Format("lightgbm", _write_lightgbm, _load_lightgbm, TEXT),
    "catboost.cbm": Format("catboost", *_catboost("cbm"), BINARY),
    "catboost.json": Format("catboost", *_catboost("json"), TEXT),
}


def suffix(name: str) -> str:
    """The end of the file's name, by which XGBoost knows the format."""
    return Path(name).suffix or f".{name}"
