"""What the columns of a table are: numbers, categories, dates, or of no use; and what is to be predicted."""

from __future__ import annotations

from dataclasses import dataclass

from gbmap._utils.shown import Result, Shown, cell
from gbmap._utils.text import counted

KINDS = ("number", "category", "date", "dropped")
TASKS = ("regression", "classification")
DATE_PARTS = ("days", "day of year", "weekday", "hour")
TARGET_KINDS = ("number", "integer", "boolean", "text")


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
        For a category: its values that become inputs, the most frequent first.
    parts : tuple of str
        For a date: what is used of it, of "days", "day of year", "weekday" and "hour"; those that vary.

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

    def _shown(self) -> Shown:
        missing = f"; {counted(self.n_missing, 'row')} without a value" if self.n_missing else ""
        return Shown(f"{cell(self.name)}, {self.kind}: {self.reason}{missing}")

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
    def categories(self) -> list[str]:
        """Those of them that are categories."""
        return [column.name for column in self.used if column.kind == "category"]
