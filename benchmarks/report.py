"""Report: ``python -m benchmarks.report`` writes ``docs/benchmarks`` from ``benchmarks/results``."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from benchmarks import pictures
from benchmarks.markdown import NOTHING, table
from benchmarks.pictures import Glance
from benchmarks.records import RESULTS, Row, dates_of, latest, read_rows
from benchmarks.topics import TOPICS, Topic
from benchmarks.verdicts import OPEN, PASS, SHORT

OUTPUT = Path(__file__).parents[1] / "docs" / "benchmarks"
INDEX, ALL, PAPER = "index", "all", "paper"

GLANCE = """\
# Results at a glance

gbmap beside the models that people use for tables, in five pictures. Every number and every title here is
written by `python -m benchmarks.report` from rows of measurements, which `benchmarks/results/` of the
repository keeps; dates say when. In short: it is as accurate as boosted trees on some tables and behind them
on others, it takes longer to fit, and what it gives beside a prediction, a map, an alarm and explanations, is
what it is for."""

MORE = """\
## More

[All pages](all.md) lists what was measured, what was found and which targets are met, and how to read the
pages. [Fidelity to the paper](paper.md) says which figures of the paper are reached."""

INTRODUCTION = """\
# All pages

One page a topic, written by `python -m benchmarks.report` from the rows that were measured, which
`benchmarks/results/` of the repository keeps; `benchmarks/README.md` there says how to measure again.
*Targets* counts the project's own that are met, on that page, each on every problem that it is for."""

PROTOCOL = """\
## How to read the pages

Times are wall-clock unless it is said otherwise. PASS and short say whether a target of the project is met;
"3 of 4" counts the problems that meet it. Each section shows the version and machine that were measured last.

One protocol for all scores: encoders and scalers are fitted on training rows only; real data are
standardised, synthetic data come as they are; the settings behind a score are chosen by rows other than its
test rows, while what gbmap tries by default was settled on data like these, as sections say; mean and
standard deviation are over at least five random splits unless it is said otherwise; the paper's figure stands
beside ours. Each section says what the paper did otherwise, as far as it is known."""

SUMMARY_HEADER = ["table", "within two deviations", "by the mean", "not measured"]
SUMMARY = """\
# Fidelity to the paper

Which figures of the paper, Patron, Prasad, Luu and Puolamäki's *Gradient Boosting Mapping for Dimensionality
Reduction and Feature Extraction*, are reached by this implementation: cells of gbmap where the paper's figure
is at most our mean plus two standard deviations of our splits, and where it is at most our mean; the paper's
own figures have a spread of their own, or come from one split. HIGGS counts as two sets: two samples stand in
for the paper's one, and both are held to its figures. Each section names the cells that are further below,
and says why as far as that is known."""

WHERE = """\
## Where the paper's tables and figures are

Its figures stand beside ours, cell by cell, on these pages:"""
OF_PAPER = re.compile(r"(?:Table|Figure)s? [\d, to and]*\d(?:, (?:Table|Figure)s? [\d, to and]*\d)*")

INDEX_HEADER = ["page", "measured", "found", "targets"]


def pages(results: Path) -> dict[str, str]:
    """All pages by the names of their files, the index among them."""
    written, lines = {}, []
    for topic in TOPICS:
        texts = [told(results, section) for section in topic.sections]
        written[topic.name] = page(topic, texts)
        link, verdicts = f"[{topic.title}]({topic.name}.md)", [found(results, topic), met(texts)]
        lines.append([link, topic.measured, *verdicts])
    overview = table(INDEX_HEADER, lines).replace("---:", "---")
    contents = "\n".join(["```{toctree}", ":hidden:", "", ALL, PAPER, *written, "```"])
    return {
        INDEX: joined([GLANCE, *glances(results), MORE, contents]),
        ALL: joined([INTRODUCTION, overview, PROTOCOL]),
        PAPER: joined([SUMMARY, summary(results), WHERE, where()]),
    } | written


def glances(results: Path) -> list[str]:
    """What the first page shows: of each question the finding, a picture and a few sentences."""
    told = []
    for topic in TOPICS:
        for section in (section for section in topic.sections if hasattr(section, "glance")):
            rows = rows_of(results, section)
            told += [shown(section.glance(rows), topic, rows)] if rows else []
    return told


def shown(glance: Glance, topic: Topic, rows: Sequence[Row]) -> str:
    """A finding as a part of the first page."""
    picture = f"![{glance.title}](figures/{glance.picture}.png)"
    more = f"Measured {dates_of(rows)}: [{topic.title}]({topic.name}.md)."
    return "\n\n".join([f"## {glance.heading}", picture, glance.text, more])


def where() -> str:
    """The pages that tell of the paper's tables and figures."""
    named = [(topic, OF_PAPER.findall(topic.measured)) for topic in TOPICS]
    return "\n".join(f"- {', '.join(of)}: [{topic.title}]({topic.name}.md)" for topic, of in named if of)


def told(results: Path, section: ModuleType) -> str:
    """A section, and what its rows come from; an experiment without rows is named, not left out."""
    rows = rows_of(results, section)
    if not rows:
        return f"*{name_of(section)}: not measured yet.*"
    return "\n\n".join([section.section(rows), *trouble(rows), provenance(rows)])


def page(topic: Topic, texts: Sequence[str]) -> str:
    """The page of a topic; the heading of a section that stands alone is the page's."""
    if len(texts) == 1 and texts[0].startswith("#"):
        return joined([re.sub(r"^#(#+ )", r"\1", texts[0], flags=re.MULTILINE)])
    return joined([f"# {topic.title}", *texts])


def found(results: Path, topic: Topic) -> str:
    """What a topic's rows say, in a few sentences."""
    findings = [
        section.finding(rows)
        for section in topic.sections
        if hasattr(section, "finding") and (rows := rows_of(results, section))
    ]
    return " ".join(filter(None, findings)) or f"{OPEN} yet".capitalize()


def met(texts: Sequence[str]) -> str:
    """How many targets sections have, and how many of them are met."""
    verdicts = [verdict for text in texts for verdict in judged(text)]
    counted = [verdict.startswith(PASS) for verdict in verdicts if verdict.startswith((PASS, SHORT))]
    return f"{sum(counted)} of {len(counted)}" if counted else NOTHING


def judged(text: str) -> list[str]:
    """The last cells of the tables of targets, or of those whose last column has no title but verdicts."""
    tables = [part.splitlines() for part in text.split("\n\n") if part.startswith("|")]
    of_targets = [lines for lines in tables if lines[0].startswith("| target |")]
    shown = of_targets or [lines for lines in tables if lines[0].endswith("|  |")]
    return [line.rstrip("| ").rpartition("| ")[2] for lines in shown for line in lines[2:]]


def summary(results: Path) -> str:
    """How many of the paper's figures are reached, table by table."""
    lines = []
    for section in (section for topic in TOPICS for section in topic.sections if hasattr(section, "summary")):
        rows = rows_of(results, section)
        for title, tally in section.summary(rows) if rows else ():
            shares = [f"{part} of {tally.known}" for part in (tally.within, tally.by_mean)]
            lines.append([title, *shares, str(tally.missing)])
    return table(SUMMARY_HEADER, lines)


def joined(parts: Sequence[str]) -> str:
    """The text of a page."""
    return "\n\n".join(parts) + "\n"


def name_of(section: ModuleType) -> str:
    """What a section and the file of its rows are called."""
    return section.__name__.rpartition(".")[2]


def rows_of(results: Path, section: ModuleType) -> list[Row]:
    """The rows that a section tells of, and those of another experiment that it shows beside them.

    Times of other machines do not compare, so rows of these stay out.
    """
    own = latest(read_rows(results / f"{name_of(section)}.csv"))
    machine = {(row["cpu"], row["cores"]) for row in own}
    beside = read_rows(results / f"{section.BESIDE}.csv") if hasattr(section, "BESIDE") else ()
    return own + [row for row in latest(beside) if (row["cpu"], row["cores"]) in machine]


def draw(results: Path, folder: Path) -> None:
    """Write the pictures of all sections that have rows."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["axes.prop_cycle"] = matplotlib.cycler(color=pictures.PALETTE)
    for section in (section for topic in TOPICS for section in topic.sections if hasattr(section, "figures")):
        rows = rows_of(results, section)
        for title, figure in section.figures(rows).items() if rows else ():
            pictures.save(figure, folder / f"{title}.png")


def trouble(rows: Sequence[Row]) -> list[str]:
    """What failed and what was missing, since a section may have no place for it."""
    counts = Counter(
        f"{row['method']}: {row['status']}" for row in rows if row["status"].startswith(("failed", "missing"))
    )
    lines = [f"- {one} ({count} times)" for one, count in counts.items()]
    return ["Rows without a result:\n\n" + "\n".join(lines)] if lines else []


def provenance(rows: Sequence[Row]) -> str:
    """Machine, versions, repeats and dates behind a section."""
    newest = max(rows, key=lambda row: row["date"])
    versions = [f"{name} {newest[name]}" for name in ("gbmap", "python", "numpy", "scipy", "scikit-learn")]
    peers = sorted({row["peer"] for row in rows if row["peer"]})
    repeats = f"up to {1 + max(int(row['repeat']) for row in rows)}"
    machine = f"{newest['cpu']}, {newest['cores']} cores"
    return f"*{machine}; {', '.join([*versions, *peers])}; repeats: {repeats}; {dates_of(rows)}.*"


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report", description=__doc__)
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the CSV files")
    parser.add_argument(
        "--output", type=Path, default=OUTPUT, help="the folder of the pages and their figures/"
    )
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    for name, text in pages(options.results).items():
        (options.output / f"{name}.md").write_text(text, encoding="utf-8")
    draw(options.results, options.output / "figures")


if __name__ == "__main__":
    main()
