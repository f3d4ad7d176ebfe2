"""Who waits for the compiler is told what it does."""

import signal

import pytest
from numba.core import event

from chasles.display import progress
from chasles.kernel import lanes, notice
from chasles.kernel.policy import COMPILED, kernel
from chasles.kernel.undisturbed import Undisturbed
from chasles.lie import so3
from chasles.relative import forward
from chasles.simulation.tree import motion as tree_motion

pytestmark = pytest.mark.skipif(not COMPILED, reason="nothing is compiled")


@kernel
def inner(x):
    return 2 * x


@kernel
def outermost(x):
    return inner(x) + so3.exp(x)


@pytest.fixture
def listener(monkeypatch):
    """A listener as in a new process."""
    fresh = notice.Notice()
    monkeypatch.setattr(notice, "someone_looks", lambda: False)
    event.unregister("numba:compile", notice.LISTENER)
    event.register("numba:compile", fresh)
    yield fresh
    event.unregister("numba:compile", fresh)
    event.register("numba:compile", notice.LISTENER)
    assert fresh.depth == 0
    assert fresh.spent > 0


def compile_one():
    scope = {"__name__": __name__, "kernel": kernel}
    exec("def triple(x):\n    return 3 * x\ndef outer(x):\n    return triple(x) + 1\n", scope)
    scope["triple"] = kernel(scope["triple"])
    assert kernel(entry=True)(scope["outer"])(1) == 4


@pytest.mark.parametrize(("patience", "silent", "lines"), [(0.0, False, 1), (0.0, True, 0), (1e9, False, 0)])
def test_a_script_is_told_once_after_a_while(listener, monkeypatch, capsys, patience, silent, lines):
    monkeypatch.setattr(notice, "SCRIPT_PATIENCE", patience)
    listener.silent = silent
    compile_one()
    said = capsys.readouterr().err
    assert said.count("compiling for this computer, at the first use only: ") == said.count("\n") == lines
    assert said.count("test_notice.outer, 2 of 2 functions left, then what else is used. ") == lines


@pytest.mark.parametrize(("patience", "shown"), [(0.0, True), (1e9, False)])
def test_who_looks_is_shown_what_is_compiled_and_how_far(listener, monkeypatch, capsys, patience, shown):
    monkeypatch.setattr(notice, "PATIENCE", patience)
    monkeypatch.setattr(notice, "someone_looks", lambda: True)
    monkeypatch.setattr(progress, "RENEWED", 0.0)
    compile_one()
    said = capsys.readouterr().err
    assert ("compiling outer: 0 of 2 functions, 0 %, 0 s passed" in said) is shown
    assert progress.Progress.front is None
    assert said.count("compiling for this computer, at the first use only. ") == shown  # a line that stays
    monkeypatch.setattr(notice, "in_notebook", lambda: True)
    listener.said = False
    compile_one()
    assert "at the first use only" not in capsys.readouterr().err  # a cell keeps what was said for ever
    assert not said or said.endswith("\r")  # and is gone


def test_only_the_compiler_is_seen_while_it_works(monkeypatch, capsys):
    """Two lines in one place would take turns."""
    monkeypatch.setattr(progress, "RENEWED", 0.0)
    with progress.Progress(0, 0, True, what="checking ...", patience=0.0) as outer:
        with notice.CompilingLine(0, 8, True, what="compiling f:", unit=" functions", patience=0.0) as line:
            line.began -= 3.0
            for _ in range(2):
                line.show(5)
                outer.show(0)
        assert "checking" not in (said := capsys.readouterr().err)
        assert said.count("compiling f: 5 of 8 functions, 62 %, 3 s passed") == 2  # not how long LLVM will take
        outer.show(0)
        assert "checking" in capsys.readouterr().err


def test_what_is_left_follows_from_the_names_in_the_code():
    found = notice.needed(outermost.dispatcher)
    assert {outermost.dispatcher, inner.dispatcher} <= found
    assert so3.exp.kernel.dispatcher in found or so3.exp.kernel.overloads
    assert lanes.select not in found
    called = {one.py_func.__name__ for one in notice.needed(tree_motion.rates.dispatcher)}
    assert "rates" in called or tree_motion.rates.overloads
    done = tree_motion.rates.overloads or forward.reduce.overloads  # by a test before this one
    assert {"forward_dynamics", "reduce"} <= called or done
    assert notice.name_of(tree_motion.rates) == "simulation.tree.motion.rates"


def test_ctrl_c_waits_for_the_compiler():
    """Broken off inside LLVM it would be lost, and leave machine code that is taken for whole."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    seen = []

    class Interrupting(event.Listener):
        def on_start(self, what):
            signal.raise_signal(signal.SIGINT)
            seen.append("compiled on")

        def on_end(self, what):
            seen.append("ended")

    @kernel(entry=True)
    def triple(x):
        return 3 * x

    listener = Interrupting()
    try:
        event.register("numba:compile", listener)
        try:
            with pytest.raises(KeyboardInterrupt):
                triple(2.0)
        finally:
            event.unregister("numba:compile", listener)
        assert seen == ["compiled on", "ended"]
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert triple(2.0) == 6.0
    finally:
        signal.signal(signal.SIGINT, before)


def test_ctrl_c_is_put_off_once():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    reached = []

    def put_off(times):
        with Undisturbed():
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)
                reached.append(times)

    try:
        with pytest.raises(KeyboardInterrupt):
            put_off(1)
        assert reached == [1]
        with pytest.raises(KeyboardInterrupt):  # the second at once
            put_off(3)
        assert reached == [1, 3]
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        put_off(2)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
