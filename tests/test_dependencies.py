"""What the package imports is declared, and what it uses of private interfaces is there."""

import ast
import re
import subprocess
import sys
import tomllib
from functools import cache
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import Bounds, minimize, rosen, rosen_der
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin
from sklearn.compose import make_column_transformer
from sklearn.preprocessing import OneHotEncoder

from gbmap import GBMAPRegressor
from gbmap._core.minimise import end_of
from gbmap._utils import scikit_learn
from gbmap._utils.scipy import l_bfgs_b

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
# Where a file, or the files of a folder, need an extra.
EXTRA_OF = {
    "cli": "cli",
    "tables": "cli",
    "demo.py": "cli",
    "_drawing": "plot",
    "report": "report",
    "datasets/paper.py": "data",
    "_fit/sources/dask.py": "dask",
    "estimators/lazy.py": "dask",
    "_rows/dask": "dask",
    "_rows/libraries": "device",
}
# Libraries whose arrays a user may bring, and where they are known. Triton comes with PyTorch.
BROUGHT = {"cupy", "cupyx", "jax", "torch", "triton"}
KNOWS_THEM = "_rows/libraries/"


def declared(requirements):
    """Return the names of distributions, also those of extras of our own among them."""
    names = set()
    for requirement in requirements:
        name, extras = re.match(r"([\w.-]+)(?:\[([\w,]+)\])?", requirement).groups()
        if name == PROJECT["name"]:
            names |= declared(chain(*(PROJECT["optional-dependencies"][each] for each in extras.split(","))))
        else:
            names.add(name)
    return names


@cache
def nodes(path):
    """Return the imports and calls of a file, wherever they stand."""
    found = ast.walk(ast.parse(path.read_text()))
    return [node for node in found if isinstance(node, ast.Import | ast.ImportFrom | ast.Call)]


def imported(path):
    """Yield each module that a file imports, with the extra that a call of `require` names."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module, None
        elif isinstance(node, ast.Call) and getattr(node.func, "id", None) == "require":
            module, extra = node.args
            if isinstance(module, ast.Constant):
                yield module.value, extra.value


def is_declared(module, extras):
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names or top == PROJECT["name"]:
        return True
    distribution = {"sklearn": "scikit-learn"}.get(top, top.replace("_", "-"))
    of_extras = [PROJECT["optional-dependencies"][each] for each in extras if each is not None]
    return distribution in declared(chain(PROJECT["dependencies"], *of_extras))


def test_every_import_is_declared():
    for path in SOURCES:
        place = path.relative_to(ROOT / "src" / "gbmap").as_posix()
        extra = next((extra for start, extra in EXTRA_OF.items() if place.startswith(start)), None)
        for module, named in imported(path):
            is_brought = module.partition(".")[0] in BROUGHT and place.startswith(KNOWS_THEM)
            assert is_brought or is_declared(module, [extra, named]), f"{place} imports {module}"


ENGINE_ALONE = """
import pkgutil, sys
import numpy as np
import gbmap._core
for module in pkgutil.iter_modules(gbmap._core.__path__, "gbmap._core."):
    __import__(module.name)
known = {name.partition(".")[0] for name in sys.modules}
assert not known & {"sklearn", "pandas", "dask", "torch", "jax", "cupy", "array_api_compat"}, known
assert not [name for name in sys.modules if name.startswith("gbmap._rows")]

from LIBRARY import asarray
from gbmap._core.activation import Softplus
from gbmap._core.arrays import to_numpy
from gbmap._core.losses import LogLoss
from gbmap._core.objective import Objective
numbers = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
block = numbers[0].repeat(2)[:5], 1.0, numbers, np.sign(numbers[:, 0]), numbers[:, 1]
sums = Objective(LogLoss(), Softplus(1.0), 0.0).block_sums
there = sums(*(asarray(each) if isinstance(each, np.ndarray) else each for each in block))
assert type(there) is type(asarray(numbers))
np.testing.assert_allclose(to_numpy(there), sums(*block), rtol=1e-5)
"""


@pytest.mark.parametrize("library", ["jax.numpy", "torch"])
def test_the_engine_alone_knows_numpy_and_scipy_and_finds_other_libraries_itself(library):
    pytest.importorskip(library, exc_type=ImportError)
    subprocess.run(
        [sys.executable, "-W", "error", "-c", ENGINE_ALONE.replace("LIBRARY", library)], check=True
    )


@pytest.mark.parametrize(("package", "place"), [("sklearn", "scikit_learn.py"), ("scipy", "scipy.py")])
def test_packages_are_private_in_one_place_only(package, place):
    for path in SOURCES:
        if path.name == place:
            continue
        for node in nodes(path):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == package:
                names = [*node.module.split("."), *(alias.name for alias in node.names)]
                assert not [name for name in names if name.startswith("_")], f"{path.name}: {names}"


@pytest.mark.parametrize("name", scikit_learn.__all__)
def test_each_name_that_is_taken_from_scikit_learn_is_used(name):
    users = [path for path in SOURCES if re.search(rf"\b{name}\b", path.read_text())]
    assert len(users) > 1


def test_what_base_classes_of_scikit_learn_do_unasked_is_there():
    assert callable(BaseEstimator._validate_params)
    assert callable(CallbackSupportMixin._init_callback_context)
    with pytest.raises(ValueError, match="'beta' parameter of GBMAPRegressor must be"):  # by its constraints
        GBMAPRegressor(beta=-1.0)._validate_params()


@pytest.mark.parametrize("max_iter", [3, 200])
@pytest.mark.parametrize(
    "bounds", [None, (np.array([-np.inf, 1.2, -1.0]), np.array([2.0, np.inf, 0.5]))], ids=["free", "bounded"]
)
def test_scipy_answers_as_its_public_function_does(bounds, max_iter):
    start = np.array([-1.0, 2.0, 0.3])
    options = {"maxcor": 5, "ftol": 1e-9, "gtol": 0.0, "maxiter": max_iter, "maxfun": 10 * max_iter}
    public = minimize(
        lambda x: (rosen(x), rosen_der(x)),
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=None if bounds is None else Bounds(*bounds),
        options=options,
    )
    steps = l_bfgs_b(start, bounds, history=5, ftol=1e-9, max_iter=max_iter, max_evaluations=10 * max_iter)
    end = end_of(steps, lambda x: (rosen(x), rosen_der(x)))
    np.testing.assert_array_equal(end.x, public.x)
    np.testing.assert_array_equal(end.gradient, public.jac)
    assert (end.value, end.n_iter, end.n_evaluations) == (public.fun, public.nit, public.nfev)
    assert end.ran_out == (public.status == 1)


def test_fitted_steps_tell_what_becomes_of_their_columns():
    X = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "city": list("abbc"), "y": [0.0, 1.0, 0.0, 1.0]})
    encoder = OneHotEncoder(min_frequency=2, drop="first")
    step = make_column_transformer((encoder, ["city"]), ("passthrough", slice(2, 3))).fit(X)
    of_part = {name: columns.tolist() for name, columns in scikit_learn.columns_of_parts(step).items()}
    assert of_part == {"onehotencoder": [1], "passthrough": [2], "remainder": [0]}
    (fitted,) = (part for name, part, _ in step.transformers_ if name == "onehotencoder")
    assert scikit_learn.groups_of_categories(fitted, 0).tolist() == [1, 0, 1]
    assert scikit_learn.dropped_group(fitted, 0) == 0
    assert scikit_learn.n_inputs_of_columns(fitted).tolist() == [1]
    plain = OneHotEncoder().fit(X[["city"]])
    assert scikit_learn.groups_of_categories(plain, 0) is None
    assert scikit_learn.dropped_group(plain, 0) is None
