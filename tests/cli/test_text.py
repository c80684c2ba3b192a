"""What comes from files is shown as it is, and has no power over the terminal."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbmap._utils.plain import plain
from gbmap._utils.text import inert, number, percent, sentence
from gbmap.cli._screen import Page, Screen

HOSTILE = "\x1b[2J\x1b]0;owned\x07 [red]x[/red] [link=file:///etc]y[/link] \u202egnp.exe \x9b31m \r\n:boom:"


@given(st.text())
def test_inert_text_is_printable_and_nothing_that_prints_is_lost(text):
    shown = inert(text)
    assert shown.isprintable()
    if text.isprintable():
        assert shown == text


def test_terminal_commands_and_changes_of_direction_become_visible():
    assert inert("a\x1b[31mb\u202ec\x9b") == r"a\x1b[31mb\u202ec\x9b"


def test_a_message_of_several_lines_becomes_one():
    assert sentence("first\n  second\x07") == r"first second\x07"


def test_a_page_shows_markup_and_emoji_codes_as_text(capsys):
    page = Page()
    page.line(HOSTILE)
    page.heading(HOSTILE)
    page.table([HOSTILE], [[HOSTILE]])
    page.print()
    out = capsys.readouterr().out
    assert out.count("[red]x[/red] [link=file:///etc]y[/link]") == 4
    assert out.count(":boom:") == 4
    assert not set("\x1b\x07\x9b\u202e\r") & set(out)


def test_a_page_that_is_no_terminal_keeps_a_row_in_one_line(capsys):
    page = Page()
    page.table(["name", "value"], [["n" * 300, "v" * 300]])
    page.print()
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_json_is_one_document_of_plain_ascii_without_nan(capsys):
    Screen(json=True).result(
        {"a": np.float64("nan"), "b": np.arange(2), "c": {"d": (np.bool_(True), float("inf"), HOSTILE)}},
        lambda page, document: None,
    )
    out = capsys.readouterr().out
    assert out.isascii()
    assert json.loads(out) == {"a": None, "b": [0, 1], "c": {"d": [True, None, HOSTILE]}}


@pytest.mark.parametrize(
    ("value", "expected"), [(None, "-"), (float("nan"), "-"), (1234567, "1,234,567"), (0.123456, "0.1235")]
)
def test_numbers_are_short_and_unknown_ones_a_dash(value, expected):
    assert number(value) == expected


def test_shares_are_in_percent():
    assert (percent(0.0512), percent(None)) == ("5.12 %", "-")


def test_plain_data_comes_through_unchanged():
    document = {"a": [1, 2.5, "x", None, True]}
    assert plain(document) == document


def test_quiet_leaves_out_progress(capsys, monkeypatch):
    monkeypatch.setattr("gbmap.cli._screen._SECONDS_BETWEEN_LINES", 0.0)
    with Screen(quiet=True).progress() as progress:
        progress("fitting", 1, 2)
    assert capsys.readouterr() == ("", "")


def test_progress_that_goes_to_a_file_is_a_line_now_and_then(capsys, monkeypatch):
    times = iter([0.0, 1.0, 1.9, 2.0, 3.9, 4.1])
    monkeypatch.setattr("gbmap.cli._screen.monotonic", lambda: next(times))
    with Screen().progress() as progress:  # begins at 0
        progress("reading", 10_000, None)
        progress("reading", 20_000, None)
        progress("reading", 50_000, None)
        progress("fitting", 1, 2)
        progress("fitting", 2, 2)
    assert capsys.readouterr() == ("", "reading 50,000 rows\nfitting 2 of 2 learners\n")


def test_progress_says_how_long_a_step_goes_on(capsys, monkeypatch):
    times = iter([0.0, 0.0, 3.0, 60.0, 61.0, 1061.0, 1062.0])
    monkeypatch.setattr("gbmap.cli._screen.monotonic", lambda: next(times))
    with Screen().progress() as progress:
        progress("reading", 50_000, 200_000)  # the pace is told from here on
        progress("reading", 100_000, 200_000)
        progress("fitting", 0, 100)
        progress("fitting", 1, 100)
        progress("fitting", 10, 100)
        progress("fitting", 11, 11)  # no more of them are worth their while
    assert capsys.readouterr().err.splitlines() == [
        "reading 100,000 of 200,000 rows, about 6 s left",
        "fitting 0 of at most 100 learners",
        "fitting 10 of at most 100 learners, at most 2 h 30 min left",
    ]


def test_a_step_that_counts_nothing_is_named(capsys, monkeypatch):
    monkeypatch.setattr("gbmap.cli._screen._SECONDS_BETWEEN_LINES", 0.0)
    with Screen().progress() as progress:
        progress("calibrating", 0, 1)
    assert capsys.readouterr() == ("", "calibrating\n")
