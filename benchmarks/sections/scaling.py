"""The runtime table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks import verdicts
from benchmarks.markdown import NOTHING, fixed, number, ratio, size, table
from benchmarks.paper import TABLE_3
from benchmarks.pictures import PALETTE, titled
from benchmarks.problems import Size
from benchmarks.records import OK, Row, dates_of, matches, median_of
from benchmarks.verdicts import Target

TITLES = {
    "gbmap": "gbmap",
    "recipe-precompiled": "recipe, precompiled",
    "recipe-user": "recipe, as a user meets it",
    "recipe-plain": "recipe, solver not jitted",
    "lol": "LOL",
    "pca-full": "PCA, full SVD",
    "pca-default": "PCA, default",
    "ivis": "ivis",
}
OURS, RECIPE = "gbmap", "recipe-precompiled"
PICTURED = {name: TITLES[name] for name in (OURS, RECIPE, "recipe-user", "lol", "pca-full")}

# Ratios of a peer's time to ours: the larger, the better for us.
LARGE_TARGETS = {
    RECIPE: Target("n >= 10^6, p = 25: recipe precompiled / gbmap, at least 6 (4 at the least)", 6, least=4),
    "recipe-user": Target("n >= 10^6, p = 25: recipe as a user meets it / gbmap, at least 20", 20),
    "pca-full": Target("n >= 10^6, p = 25: PCA with full SVD / gbmap, at least 1", 1),
}
EVERY_TARGETS = {
    "lol": Target("every size: LOL / gbmap, at least 1", 1),
    "recipe-user": Target("every size: recipe as a user meets it / gbmap, at least 1", 1),
    "pca-full": Target("every size: PCA with full SVD / gbmap, at least 1", 1),
}
LOSS_TARGET = Target(
    "n >= 10^6, p = 25: gbmap's loss / the recipe's, at most 1.001", 1.001, at_most=True, digits=5
)

INTRODUCTION = """\
Seconds of one fit, median over the repeats: synth-cos-c, unrotated, float32, logistic loss, m = 2, beta =
1, lambda = 1e-3, at most 100 iterations. The recipe is the paper's, in JAX with jaxopt's L-BFGS (tolerance
1e-3). *Precompiled* is the second fit of the same shapes with the data already in JAX; *as a user meets it*
is a fit in a new process, which compiles its solver once. gbmap's time is that of the whole `fit`, checks
included. ivis (at most 1000 epochs, an end after 5 without progress) runs only when asked for by name, at the
sizes that it can do in the time; a dash is a size that was not tried."""


CAVEATS = """\
How far to trust these figures:

- The constants of gbmap's solver (length of the race, damping, sizes and growth of the samples, tolerance on
  them) were chosen on these very problems, on synth-cos with another seed and on the paper's real data sets,
  among some forty settings. On other data expect the order of magnitude, not the ratio.
- Within a run the methods alternate, but for ivis, which runs alone. Not all rows of a size are of one run:
  their dates are in `benchmarks/results/scaling.csv`.
- Repeats differ from size to size; the next table gives the number, and the least and the largest time. A
  single repeat says nothing about spread. The seed of a repeat also moves the minimum that is found, and with
  it the recipe's time."""

# Why a peer's target is missed, where it is.
REASONS = {
    "recipe-user": "The recipe here compiles its solver once a fit, not for every sign of every learner, and "
    "with many rows compiling hardly counts: the ratio becomes that of the passes.",
    "pca-full": "With few columns both take a moment. With more a learner takes many passes, which the table "
    "of losses has: the valley that leads to its minimum is flat, the passes are bound by memory, and in a "
    "trial neither the Gauss-Newton matrix nor the full Hessian of a sample made them fewer. Where the "
    "recipe takes fewer passes than gbmap, its loss is hardly below that of chance.",
}

LOSSES = """\
Mean logistic loss on the training rows, and the passes over the data that it took: gbmap's as the fit counts
them, the recipe's evaluations for both signs."""

PAPER_HEADER = [
    "n x p",
    "GBMAP, paper",
    "ours",
    "LOL, paper",
    "ours",
    "PCA, paper",
    "ours",
    "ivis, paper",
    "ours",
]


def section(rows: Sequence[Row]) -> str:
    """Times, ratios, losses, the paper's figures, the targets."""
    sizes = sorted({(int(row["n"]), int(row["p"])) for row in rows if row["n"]}, key=_paper_order)
    methods = [name for name in TITLES if any(row["method"] == name for row in rows)]
    peers = [name for name in methods if name != OURS]
    return "\n\n".join(
        [
            "## Runtime (Table 3)",
            *_picture(rows),
            INTRODUCTION,
            table(
                ["n x p", *(TITLES[name] for name in methods)], [_times(rows, one, methods) for one in sizes]
            ),
            CAVEATS + _fastest(rows, sizes),
            *_short(rows, sizes),
            table(
                ["n x p", *(TITLES[name] for name in methods)],
                [_spreads(rows, one, methods) for one in sizes],
            ),
            "Medians of the peers divided by gbmap's:",
            table(["n x p", *(TITLES[name] for name in peers)], [_ratios(rows, one, peers) for one in sizes]),
            LOSSES,
            table(
                ["n x p", "gbmap", "recipe", "gbmap / recipe", "gbmap's passes", "recipe's passes"],
                [_losses(rows, one) for one in sizes],
            ),
            "The paper's seconds (ten runs on two processors of its own; PCA by full SVD) beside ours:",
            table(PAPER_HEADER, [_beside_paper(rows, one) for one in sizes if one in TABLE_3]),
            table(verdicts.HEADER, _verdicts(rows, sizes)),
        ]
    )


def finding(rows: Sequence[Row]) -> str:
    """The time of a fit of a million rows, and those of its peers."""
    one = next(iter(_large(sorted({(int(row["n"]), int(row["p"])) for row in rows if row["n"]}))), None)
    if one is None:
        return ""
    peers = {name: _speedup(rows, one, name) for name in (RECIPE, "recipe-user", "pca-full")}
    told = [f"{TITLES[name]} {number(each)}" for name, each in peers.items() if each is not None]
    seconds = number(_seconds(rows, one, OURS))
    return f"{size(*one)} take gbmap {seconds} s; its peers, times as long: {'; '.join(told)}."


def _picture(rows: Sequence[Row]) -> list[str]:
    told = finding(rows)
    return [f"![{told}](figures/scaling.png)", f"Rows of {dates_of(rows)}."] if told else []


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    """Seconds against columns, and against rows."""
    import matplotlib.pyplot as plt

    told = finding(rows)
    if not told:
        return {}
    sizes = sorted({(int(row["n"]), int(row["p"])) for row in rows if row["n"]})
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.8), layout="constrained", sharey=True)
    for ax, name, varied, fixed_at in (
        (axes[0], "columns of 10^5 rows", 1, 100_000),
        (axes[1], "rows of 25 columns", 0, 25),
    ):
        chosen = [one for one in sizes if one[1 - varied] == fixed_at]
        for (method, title), color, marker in zip(PICTURED.items(), PALETTE, "oPsD^"):
            times = [(one[varied], _seconds(rows, one, method)) for one in chosen]
            known = [(at, seconds) for at, seconds in times if seconds is not None]
            if known:
                look = {"color": color, "marker": marker, "linewidth": 2.6 if method == OURS else 1.6}
                ax.plot(*zip(*known), markersize=7, label=title, **look)
        ax.set(xscale="log", yscale="log", xlabel=name)
        ax.grid(color="0.93")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("seconds of a fit")
    handles, texts = axes[1].get_legend_handles_labels()
    figure.legend(handles, texts, loc="outside lower center", ncols=5, frameon=False)
    titled(figure, told)
    return {"scaling": figure}


def _fastest(rows: Sequence[Row], sizes: Sequence[Size]) -> str:
    """What remains of the recipe's ratios to gbmap's median if its fastest repeat is taken."""
    told = []
    for one in _large(sizes):
        least, ours = min(_all_seconds(rows, one, RECIPE), default=None), _seconds(rows, one, OURS)
        told.append(f"{number(ratio(least, ours))} at {size(*one)}")
    return f" Its fastest one, precompiled, divided by gbmap's median: {', '.join(told)}." if told else ""


def _short(rows: Sequence[Row], sizes: Sequence[Size]) -> list[str]:
    """The targets of speed that are missed, where, and why."""
    lines = []
    for target, peer, chosen in _speed_targets(sizes):
        speedups = {size(*one): _speedup(rows, one, peer) for one in chosen}
        missed = [name for name, found in speedups.items() if target.mark(found) == verdicts.SHORT]
        if missed:
            lines.append(f"- *{target.text}*: short at {', '.join(missed)}. {REASONS.get(peer, '')}".rstrip())
    return ["\n".join(["What falls short of its target, and why:", "", *lines])] if lines else []


def _paper_order(one: Size) -> tuple[bool, int, int]:
    """Growing p first, then growing n, as in the paper."""
    n, p = one
    return n != 100_000, n, p


def _seconds(rows: Sequence[Row], one: Size, method: str) -> float | None:
    return median_of(rows, "seconds", n=one[0], p=one[1], method=method)


def _all_seconds(rows: Sequence[Row], one: Size, method: str) -> list[float]:
    mine = [row for row in rows if matches(row, n=one[0], p=one[1], method=method, status=OK)]
    return [float(row["seconds"]) for row in mine]


def _loss(rows: Sequence[Row], one: Size, method: str) -> float | None:
    return median_of(rows, "loss", n=one[0], p=one[1], method=method)


def _speedup(rows: Sequence[Row], one: Size, peer: str) -> float | None:
    return ratio(_seconds(rows, one, peer), _seconds(rows, one, OURS))


def _times(rows: Sequence[Row], one: Size, methods: Sequence[str]) -> list[str]:
    return [size(*one), *(_time_or_status(rows, one, name) for name in methods)]


def _time_or_status(rows: Sequence[Row], one: Size, method: str) -> str:
    """The time, or why there is none: a peer that is missing or fails is never left out."""
    seconds = _seconds(rows, one, method)
    if seconds is not None:
        return number(seconds)
    problem = f"synth-cos-c-{one[0]}x{one[1]}"
    status = [row["status"] for row in rows if row["method"] == method and row["problem"] == problem]
    return next((text.partition(":")[0] for text in status if text != OK), NOTHING)


def _spreads(rows: Sequence[Row], one: Size, methods: Sequence[str]) -> list[str]:
    """The number of repeats behind a median, and their range."""
    cells = []
    for method in methods:
        seconds = _all_seconds(rows, one, method)
        cells.append(
            f"{len(seconds)}: {number(min(seconds))} to {number(max(seconds))}" if seconds else NOTHING
        )
    return [size(*one), *cells]


def _ratios(rows: Sequence[Row], one: Size, peers: Sequence[str]) -> list[str]:
    return [size(*one), *(number(_speedup(rows, one, name)) for name in peers)]


def _losses(rows: Sequence[Row], one: Size) -> list[str]:
    ours, recipe = _loss(rows, one, OURS), _loss(rows, one, RECIPE)
    passes = [median_of(rows, "passes", n=one[0], p=one[1], method=name) for name in (OURS, RECIPE)]
    return [size(*one), fixed(ours, 5), fixed(recipe, 5), fixed(ratio(ours, recipe), 4), *map(number, passes)]


def _beside_paper(rows: Sequence[Row], one: Size) -> list[str]:
    paper = TABLE_3[one]
    ours = {name: number(_seconds(rows, one, name)) for name in (OURS, "lol", "pca-full", "ivis")}
    cells = [str(paper.gbmap), ours[OURS], str(paper.lol), ours["lol"], str(paper.pca), ours["pca-full"]]
    return [size(*one), *cells, str(paper.ivis), ours["ivis"]]


def _large(sizes: Sequence[Size]) -> list[Size]:
    return [one for one in sizes if one[0] >= 1_000_000 and one[1] == 25]


def _speed_targets(sizes: Sequence[Size]) -> list[tuple[Target, str, Sequence[Size]]]:
    """Every target of a ratio of times, its peer and the sizes that it is for."""
    return [
        (target, peer, chosen)
        for targets, chosen in ((LARGE_TARGETS, _large(sizes)), (EVERY_TARGETS, sizes))
        for peer, target in targets.items()
    ]


def _verdicts(rows: Sequence[Row], sizes: Sequence[Size]) -> list[list[str]]:
    lines = [
        target.judge({size(*one): _speedup(rows, one, peer) for one in chosen})
        for target, peer, chosen in _speed_targets(sizes)
    ]
    losses = {size(*one): ratio(_loss(rows, one, OURS), _loss(rows, one, RECIPE)) for one in _large(sizes)}
    return [*lines, LOSS_TARGET.judge(losses)]
