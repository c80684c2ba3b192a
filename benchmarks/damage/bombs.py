"""Small files that are made to take long: each is sound to look at, and would keep a careless reader busy.

Each function takes about how many bytes the file may have. Names say what grows faster than the file.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable
from typing import Any

_PREFIX = struct.Struct("<8sIQ")
_DEPTH = 30
_PRIME = 2**61 - 1  # whole numbers that differ by it have the same hash

# Without these nothing comes of an attempt to quote one.
_SETTINGS: dict[str, dict[str, Any]] = {
    "sklearn.StandardScaler": {"copy": True, "with_mean": True, "with_std": True},
    "sklearn.OneHotEncoder": {
        "categories": "auto", "drop": None, "sparse_output": True, "dtype": {"type": "numpy.float64"},
        "handle_unknown": "error", "min_frequency": None, "max_categories": None,
        "feature_name_combiner": "concat",
    },
    "sklearn.FeatureUnion": {
        "transformer_list": [], "n_jobs": None, "transformer_weights": None, "verbose": False,
        "verbose_feature_names_out": True,
    },
    "sklearn.Pipeline": {"steps": [], "transform_input": None, "memory": None, "verbose": False},
}  # fmt: skip

# What the loader promises, in seconds: so many for any file, and so many more for each megabyte.
SECONDS, SECONDS_PER_MB = 1.0, 5.0


def promised_seconds(n_bytes: int) -> float:
    """Return the time within which a file of this size is read or refused."""
    return SECONDS + SECONDS_PER_MB * n_bytes / 1e6


def file_of(content: Any, arrays: list[tuple[str, list[int], bytes]] | None = None) -> bytes:
    """Return a file with any content and arrays: type, shape and bytes of each; the checksum fits."""
    arrays = arrays or []
    header: Any = {
        "arrays": [[kind, shape] for kind, shape, _ in arrays],
        "content": content,
        "versions": {"gbmap": "0.1.0"},
    }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(_PREFIX.size + len(text)) % 64)
    data = b"".join(data + bytes(-len(data) % 64) for _, _, data in arrays)
    body = _PREFIX.pack(b"\x89GBMAP\r\n", 1, len(text)) + text + data
    return body + hashlib.sha256(body).digest()


def instance(cls: str, /, **members: Any) -> dict[str, Any]:
    """Return the content of an instance."""
    return {"instance": [cls, _SETTINGS.get(cls, {}) | members]}


def model(first: Any = None, **members: Any) -> dict[str, Any]:
    """Return the content of a model that is not fitted, with some members in place of its own.

    `first` comes before them, so that they can refer to what is in it.
    """
    from gbmap import GBMAPRegressor

    settings = {"_first": first} | GBMAPRegressor(random_state=0).get_params(deep=False)
    return instance("GBMAPRegressor", **settings | members)


def _chain(n_links: int, link: Callable[[Any], Any], name: str, member: str) -> dict[str, Any]:
    """Return instances, each of which holds what a link makes of a reference to the one before.

    They are members of a scaler, and the last is quoted, compared and looked up as a setting of a model.
    """
    first = instance(name, **{member: 1.0})
    links = {f"k{k}": instance(name, **{member: link({"same": k - 1})}) for k in range(1, n_links)}
    carrier = instance("sklearn.StandardScaler", k0=first, **links)
    return model(carrier, n_components={"same": n_links - 1})


def _links(n_bytes: int) -> int:
    return max(2, n_bytes // 100)


def _twice(of: str, name: str, member: str) -> Callable[[int], bytes]:
    def bomb(n_bytes: int) -> bytes:
        links: dict[str, Callable[[Any], Any]] = {
            "tuple": lambda same: {"tuple": [same, same]},
            "list": lambda same: [same, same],
            "dict": lambda same: {"dict": [["a", same], ["b", same]]},
            "frozenset": lambda same: {"frozenset": [same, {"tuple": [same]}]},
            "objects": lambda same: {"objects": [[2], [same, same]]},
        }
        return file_of(_chain(_links(n_bytes), links[of], name, member))

    return bomb


def _direct(n_bytes: int) -> bytes:
    """Two members of each instance are the one before: no list around them."""
    n_links = _links(n_bytes)
    pair = [{"same": k} for k in range(n_links)]
    links = {
        f"k{k}": instance("sklearn.StandardScaler", copy=pair[k - 1], with_std=pair[k - 1])
        for k in range(1, n_links)
    }
    carrier = instance("sklearn.StandardScaler", k0=instance("sklearn.StandardScaler"), **links)
    return file_of(model(carrier, beta=pair[-1]))


def _hashed(n_bytes: int) -> bytes:
    """A loss of losses, looked up in a dict."""
    n_links = _links(n_bytes)
    links: dict[str, Any] = {"k0": instance("losses.Hinge", width=1.0)}
    for k in range(1, n_links):
        links[f"k{k}"] = instance("losses.Quantile", quantile={"same": k - 1}, width={"same": k - 1})
    carrier = instance("sklearn.StandardScaler", **links)
    ensemble = {name: {"array": 0} for name in ("intercepts", "signs", "offsets", "beta", "center")}
    learners = instance(
        "Ensemble", **ensemble, weights={"array": 1}, outputs={"array": 2}, n_outputs=1,
        activation={"same": n_links - 1},
    )  # fmt: skip
    arrays = [("<f8", [0], b""), ("<f8", [0, 0], b""), ("<i8", [0], b"")]
    return file_of(model(carrier, ensemble_=learners), arrays)


def _keys(of: str) -> Callable[[int], bytes]:
    def bomb(n_bytes: int) -> bytes:
        items: list[Any] = [k * _PRIME for k in range(n_bytes // 24)]
        if of == "dict":
            return file_of(model(notes_={"dict": [[item, 0] for item in items]}))
        if of == "tuples":
            return file_of(model(notes_={"set": [{"tuple": [item]} for item in items]}))
        return file_of(model(notes_={of: items}))

    return bomb


def _many_keys(n_bytes: int) -> bytes:
    """Many sets, each as large as may be."""
    items = [k * _PRIME for k in range(1000)]
    return file_of(model(notes_=[{"set": items}] * max(1, n_bytes // 24_000)))


def _nested(link: Callable[[Any], Any]) -> Callable[[int], bytes]:
    """Return a bomb of instances within one another, as deep as may be, of which a text is made."""

    def bomb(n_bytes: int) -> bytes:
        content: Any = instance("sklearn.StandardScaler", copy=True)
        for _ in range(min(n_bytes // 60, _DEPTH)):
            content = link(content)
        return file_of(model(n_components=content))

    return bomb


def _version(n_bytes: int) -> bytes:
    """A version of scikit-learn that is no text, but would be made one for a warning."""
    content: Any = instance("sklearn.OneHotEncoder", categories=1)
    for _ in range(min(n_bytes // 60, _DEPTH)):
        content = instance("sklearn.OneHotEncoder", categories=[content], _sklearn_version="1")
    return file_of(model(init=instance("sklearn.StandardScaler", _sklearn_version=content)))


def _looked_at(kind: str) -> Callable[[int], bytes]:
    """Return a bomb of one large array and many references to it."""

    def bomb(n_bytes: int) -> bytes:
        n_characters, n_references = n_bytes // 8, n_bytes // 60
        large = ("<u4", [n_characters], bytes(4 * n_characters))
        references: dict[str, list[Any]] = {
            "text": [{"text": 0}] * n_references,
            "scalar": [{"text": 0}, *[{"scalar": {"same": 0}}] * n_references],
        }
        return file_of(model(notes_=references[kind]), [large])

    return bomb


def _sparse(n_bytes: int) -> bytes:
    """Many matrices of the same large parts."""
    n = n_bytes // 16
    arrays = [("|i1", [n], bytes(n)), ("<i4", [n], bytes(4 * n)), ("<i4", [2], struct.pack("<ii", 0, n))]
    parts = [{"array": 0}, {"array": 1}, {"array": 2}]
    same = {"csr": [[1, 5], {"same": 0}, {"same": 1}, {"same": 2}]}
    return file_of(model(notes_=[*parts, *[same] * (n_bytes // 100)]), arrays)


def _tables(n_bytes: int) -> bytes:
    """Many models of tables, each of which compares its columns with those of one large pipeline."""
    from gbmap.tables import TableModel

    n = n_bytes // 60
    names = {"objects": [[n], ["x"] * n]}
    step = instance("sklearn.StandardScaler", feature_names_in_=names)
    pipeline = instance("sklearn.Pipeline", steps=[{"tuple": ["a", step]}, {"tuple": ["b", model()]}])
    columns = {"tuple": [instance("tables.Column", name="x", kind="number", reason="")] * 3}
    schema = instance(
        "tables.Schema", target="y", task="regression", task_reason="", target_kind="number", columns=columns,
        n_rows=1, n_without_target=0,
    )  # fmt: skip
    settings = TableModel("y").get_params(deep=False)
    # The names, a scaler, a model and the pipeline come before three columns and the schema.
    others = {
        f"m{k}": instance("TableModel", **settings, pipeline_={"same": 3}, schema_={"same": 7})
        for k in range(n_bytes // 600)
    }
    return file_of(instance("sklearn.StandardScaler", k0=pipeline, k1=schema, **others))


def _many(kind: str) -> Callable[[int], bytes]:
    """Return a file of many small instances: what takes longest of what grows as the file does."""

    def bomb(n_bytes: int) -> bytes:
        if kind == "models":
            steps = [model()] * (n_bytes // 420)
        else:
            steps = [
                {"instance": ["sklearn.StandardScaler", {"_sklearn_version": str(k)}]}
                for k in range(n_bytes // 80)
            ]
        return file_of(instance("sklearn.Pipeline", steps=steps))

    return bomb


def _digits(n_bytes: int) -> bytes:
    return file_of(model(n_components=0)).replace(b'"n_components":0', b'"n_components":' + b"7" * n_bytes)


def _resealed(bomb: Callable[[int], bytes]) -> Callable[[int], bytes]:
    """Return a bomb whose header was changed after its length was known."""

    def sealed(n_bytes: int) -> bytes:
        data = bomb(n_bytes)[:-32]
        text = data[_PREFIX.size :].rstrip()
        text += b" " * (-(_PREFIX.size + len(text)) % 64)
        body = _PREFIX.pack(b"\x89GBMAP\r\n", 1, len(text)) + text
        return body + hashlib.sha256(body).digest()

    return sealed


BOMBS: dict[str, Callable[[int], bytes]] = {
    **{
        f"references in {of}": _twice(of, "sklearn.StandardScaler", "copy")
        for of in ("tuple", "list", "dict", "frozenset", "objects")
    },
    "references of a loss": _twice("tuple", "losses.Huber", "delta"),
    "references as members": _direct,
    "a hash of losses": _hashed,
    **{f"equal hashes in a {of}": _keys(of) for of in ("set", "frozenset", "dict")},
    "equal hashes of tuples": _keys("tuples"),
    "equal hashes in many sets": _many_keys,
    "scalers in scalers": _nested(lambda inner: instance("sklearn.StandardScaler", copy=[inner])),
    "encoders in encoders": _nested(lambda inner: instance("sklearn.OneHotEncoder", categories=[inner])),
    "unions in unions": _nested(
        lambda inner: instance("sklearn.FeatureUnion", transformer_weights={"dict": [["a", inner]]})
    ),
    "pipelines in pipelines": _nested(
        lambda inner: instance("sklearn.Pipeline", steps=[{"tuple": ["a", inner]}], memory=None)
    ),
    "models in models": _nested(lambda inner: model(init=inner)),
    "a version that is an object": _version,
    "text that is looked at often": _looked_at("text"),
    "text that is copied often": _looked_at("scalar"),
    "matrices of the same parts": _sparse,
    "tables of the same columns": _tables,
    "many models": _many("models"),
    "many versions of scikit-learn": _many("versions"),
    "a number of many digits": _resealed(_digits),
}
