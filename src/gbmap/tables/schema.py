"""What the columns of a table are: numbers, categories, dates, or of no use; and what is to be predicted."""

from __future__ import annotations

from dataclasses import dataclass, fields

from gbmap._utils.shown import Result, Shown, cell
from gbmap._utils.text import counted

KINDS = ("number", "category", "date", "dropped")
TASKS = ("regression", "classification")
EMPTY = "empty"  # why a column is dropped that has no value
# How the reasons begin for which columns are dropped that tell rows apart, or hold text.
RUNNING, IDENTIFIER, FREE_TEXT = "a running number", "an identifier", "free text"
UNREADABLE = "values of type"  # how that begins of those whose values nothing can be made of
DATE_PARTS = ("days", "day of year", "weekday", "hour")
TARGET_KINDS = ("number", "integer", "boolean", "text")


@dataclass(frozen=True, repr=False)
class Form(Result):
    """How the values of a column are written as text. New files are read by it, as that of the fit was.

    Attributes
    ----------
    decimal : {".", ","}
        The mark before decimals.
    group : {"", ".", ","}
        The mark that sets off thousands; "" if none was seen. Spaces and apostrophes do anyway.
    unit : str
        "%", by which 12 % is 0.12, a measure such as "kg", or a currency; "s" for spans of time and "h" for
        times of day, which frames have types for; "" if none was seen, "any" if the user asked for numbers
        that have several.
    date : str
        "dmy" if days come before months where that is open, as in 09/12/2012, or "mdy", or a format such as
        ``%d.%m.%Y``; "" if nothing had to be decided.
    truth : bool
        Whether words such as yes and no count as 1 and 0.
    lenient : bool
        Whether what cannot be read counts as missing, since the user asked for the kind of the column.

    Examples
    --------
    >>> import pandas as pd
    >>> from gbmap.tables import TableModel
    >>> data = pd.DataFrame({"paid": ["1.234,50 €", "2,75 €", "3 €"] * 10, "y": [1.5, 2.5, 0.5] * 10})
    >>> TableModel("y", n_components=2).fit(data).schema_.columns[0].form
    Form: decimal=',', group='.', unit='EUR', date='', truth=False, lenient=False
    """

    decimal: str = "."
    group: str = ""
    unit: str = ""
    date: str = ""
    truth: bool = False
    lenient: bool = False

    def _shown(self) -> Shown:
        return Shown(", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields(self)))


PLAIN = Form()


@dataclass(frozen=True, repr=False)
class Column(Result):
    """One column of a table.

    Attributes
    ----------
    name : str
    kind : {"number", "category", "date", "dropped"}
        Truth values and whole numbers with few different values are numbers.
    reason : str
        Why it is of this kind.
    n_missing : int
        The rows without a value.
    levels : tuple of str
        For a category: its values that become inputs, the most frequent first. For a column that is dropped
        since it is constant: its one value.
    parts : tuple of str
        For a date: what is used of it, of "days", "day of year", "weekday" and "hour"; those that vary.
    form : Form
        How its values are written.
    reading : str
        An example of what was recognised, such as "'1.234,50 €' is read as 1234.5", or what is to be known of
        the values, as that spans of time count in seconds; "" if there is nothing.
    tells : str
        For a column that was dropped: what it seems to tell of the target nevertheless, "" if nothing.

    Examples
    --------
    >>> from gbmap.tables import Column
    >>> Column("when", "date", "all of its values are ISO dates", parts=("days", "hour")).features
    ['when (days)', 'when (hour)']
    """

    name: str
    kind: str
    reason: str
    n_missing: int = 0
    levels: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    form: Form = PLAIN
    reading: str = ""
    tells: str = ""

    def _shown(self) -> Shown:
        missing = f"; {counted(self.n_missing, 'row')} without a value" if self.n_missing else ""
        return Shown(f"{cell(self.name)}, {self.kind}: {self.reason}{missing}")

    @property
    def is_key(self) -> bool:
        """Whether it is dropped since it tells rows apart: a running number, or an identifier."""
        return self.kind == "dropped" and self.reason.startswith((RUNNING, IDENTIFIER))

    @property
    def is_constant(self) -> bool:
        """Whether it is dropped since it had one value in all rows, or none in any."""
        return self.kind == "dropped" and (len(self.levels) == 1 or self.reason == EMPTY)

    @property
    def features(self) -> list[str]:
        """The names of the columns that the model gets from this one."""
        if self.kind == "dropped":
            return []
        return [f"{self.name} ({part})" for part in self.parts] if self.kind == "date" else [self.name]


@dataclass(frozen=True, repr=False)
class Schema(Result):
    """What the columns of a table are, and what is predicted from them.

    Attributes
    ----------
    target : str
        The column that is predicted.
    task : {"regression", "classification"}
    task_reason : str
        Why it is this one, for people to read.
    target_kind : {"number", "integer", "boolean", "text"}
        What the values of the target are.
    columns : tuple of Column
        The other columns, dropped ones too, in the order of the table.
    n_rows : int
        Rows of the table.
    n_without_target : int
        Rows that were left out because their target is missing.
    target_form : Form
        How the values of the target are written.
    target_reading : str
        An example of what was recognised in it, as that of a `Column`.
    encoding : str
        What the user said that files are encoded in, where they do not tell; "" for nothing.

    Examples
    --------
    >>> import pandas as pd
    >>> from gbmap.tables import TableModel
    >>> data = pd.DataFrame({"x": range(0, 60, 2), "who": ["me"] * 30, "y": ["a", "b", "b"] * 10})
    >>> schema = TableModel("y", n_components=2).fit(data).schema_
    >>> schema.task, {column.name: column.kind for column in schema.columns}
    ('classification', {'x': 'number', 'who': 'dropped'})
    """

    target: str
    task: str
    task_reason: str
    target_kind: str
    columns: tuple[Column, ...]
    n_rows: int
    n_without_target: int
    target_form: Form = PLAIN
    target_reading: str = ""
    encoding: str = ""

    def _shown(self) -> Shown:
        table = {
            "column": [column.name for column in self.columns],
            "kind": [column.kind for column in self.columns],
            "missing": [column.n_missing for column in self.columns],
            "reason": [column.reason for column in self.columns],
        }
        about = f"{self.task} of {cell(self.target)}, from {counted(len(self.used), 'column')}"
        return Shown(f"{about}, {counted(self.n_rows, 'row')}", table)

    @property
    def used(self) -> list[Column]:
        """The columns that are not dropped."""
        return [column for column in self.columns if column.kind != "dropped"]

    @property
    def dropped(self) -> list[Column]:
        """The columns that are."""
        return [column for column in self.columns if column.kind == "dropped"]

    @property
    def features(self) -> list[str]:
        """The names of the columns that the model gets, in their order."""
        return [name for column in self.used for name in column.features]

    @property
    def days(self) -> list[str]:
        """Those of them that count the days of a date since 1970."""
        dates = (column for column in self.used if column.kind == "date")
        return [name for each in dates for name, part in zip(each.features, each.parts) if part == "days"]

    @property
    def categories(self) -> list[str]:
        """Those of them that are categories."""
        return [column.name for column in self.used if column.kind == "category"]
