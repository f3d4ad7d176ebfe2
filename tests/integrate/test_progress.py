"""The progress line, and Ctrl-C."""

import signal
import sys
import time
from types import ModuleType, SimpleNamespace

import pytest

from chasles import registry
from chasles.display.progress import DISPLAY, Progress, duration
from chasles.integrate.stepper import Attention


def passed(line, seconds):
    line.began -= seconds
    line.last -= seconds


def test_rate_and_time_left(capsys, monkeypatch):
    with Progress(0.0, 10.0, True) as line:
        line.show(1.0)
        assert capsys.readouterr().err == ""  # not in the first second
        passed(line, 5.0)
        line.show(5.0)
        assert "t = 5 of 10 s, 50 %, 5 s left, 1 s/s" in capsys.readouterr().err
        line.say("interrupted")
        assert capsys.readouterr().err.endswith("\rinterrupted\n")
    with Progress(0.0, 10.0, True, at=5.0) as line:  # resumed at 5 s: the rate is that of what is done now
        passed(line, 2.0)
        line.show(6.0)
        assert "t = 6 of 10 s, 60 %, 8 s left, 0.5 s/s" in capsys.readouterr().err
        passed(line, 100.0)
        monkeypatch.setattr(Progress, "compiling", Progress.compiling + 100.0)  # as fast as before
        line.show(6.0)
        assert "t = 6 of 10 s, 60 %, 8 s left, 0.5 s/s" in capsys.readouterr().err
    assert capsys.readouterr().err.endswith("\r")  # and is gone
    with Progress(0.0, 10.0, True) as line:  # a first step, nearly all of whose time was the compiler's
        passed(line, 5.0)
        monkeypatch.setattr(Progress, "compiling", Progress.compiling + 4.95)
        line.show(0.001)
        assert "t = 0.001 of 10 s, 0 %, 5 s passed" in capsys.readouterr().err
    capsys.readouterr()
    with Progress(0.0, 10.0) as line:
        passed(line, 5.0)
        line.show(5.0)
    assert capsys.readouterr().err == ""  # no terminal


def test_a_notebook_has_one_line_for_all_that_a_cell_shows(monkeypatch, capsys):
    shown = []

    class Handle:
        def display(self, what, raw):
            self.place = len(shown)
            shown.append([what["text/plain"]])

        def update(self, what, raw):
            shown[self.place].append(what["text/plain"])

    shell = SimpleNamespace(execution_count=1)
    notebook = {"ipykernel": ModuleType("ipykernel"), "IPython": ModuleType("IPython")}
    notebook["IPython.display"] = SimpleNamespace(DisplayHandle=Handle)
    notebook["IPython"].get_ipython = lambda: shell
    for name, module in notebook.items():
        monkeypatch.setitem(sys.modules, name, module)
    for shell.execution_count in (1, 1, 2):
        with Progress(0.0, 10.0, True) as line:
            passed(line, 5.0)
            line.show(5.0)
            passed(line, 1.0)
            line.show(6.0)
    assert [len(lines) for lines in shown] == [6, 3]
    assert all("t = 6 of 10 s, 60 %" in lines[1] and lines[-1] == "" for lines in shown)
    assert capsys.readouterr().err == ""


def test_things_that_take_long_each(capsys):
    with Progress(0, 4, True, what="figures:", unit="", steady=True) as line:
        line.show(1, "figure 7")
        passed(line, 10.0)
        time.sleep(0.5)
        with line.aside():
            print("done")
    shown = capsys.readouterr()
    assert "figures: 1 of 4, 25 %, " in shown.err
    assert "/s: figure 7" in shown.err
    assert shown.out == "done\n"
    assert [duration(x) for x in (3.2, 150, 9000)] == ["3 s", "2 min", "2.5 h"]


def test_commands_draw_it_with_rich(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    monkeypatch.setattr(registry, "_PLACES", {DISPLAY: "chasles.cli.progress:RichDisplay"})
    with Progress(0.0, 10.0, True) as line:
        passed(line, 5.0)
        line.show(5.0)
        assert line.share() == 0.5
        assert "t = 5 of 10 s, 50 %, " in capsys.readouterr().err
        line.say("interrupted")
        assert capsys.readouterr().err.endswith("interrupted\n")
    with Progress(0, 0, True, what="checking ...") as line:
        passed(line, 5.0)
        line.show(0)
        assert line.share() is None
        assert "checking ... 5 s" in capsys.readouterr().err


def test_where_nobody_looks_commands_write_a_plain_line_now_and_then(capsys, monkeypatch):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setattr(registry, "_PLACES", {DISPLAY: "chasles.cli.progress:RichDisplay"})
    with Progress(0.0, 10.0, True) as line:
        for more, is_time in ((5.0, False), (12.0, True), (20.0, False), (40.0, True)):
            passed(line, more)
            line.show(5.0)
            assert capsys.readouterr().err.startswith("chasles: t = 5 of 10 s, 50 %, ") == is_time


def test_attention_is_paid_once_and_passed_on(monkeypatch):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with Attention() as outer:
            with Attention() as inner:
                signal.raise_signal(signal.SIGINT)
                assert inner.called
            assert outer.called
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
            outer.called = False  # as one does who answers
        with pytest.raises(KeyboardInterrupt), Attention():  # nobody answers, so it goes on
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        own = signal.signal(signal.SIGINT, lambda *arguments: None)
        with Attention() as attention:  # a handler of the user's own is left alone
            signal.raise_signal(signal.SIGINT)
        assert not attention.called
        signal.signal(signal.SIGINT, own)
    finally:
        signal.signal(signal.SIGINT, before)
