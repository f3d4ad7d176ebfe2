"""Who waits for the compiler is told so, once."""

import signal

import pytest
from numba.core import event

from chasles.kernel import notice
from chasles.kernel.policy import COMPILED, kernel
from chasles.kernel.undisturbed import Undisturbed

pytestmark = pytest.mark.skipif(not COMPILED, reason="nothing is compiled")


@pytest.mark.parametrize(("patience", "looking", "lines"), [(0.0, True, 1), (0.0, False, 0), (1e9, True, 0)])
def test_one_line_after_a_while_if_someone_looks(monkeypatch, capsys, patience, looking, lines):
    monkeypatch.setattr(notice, "PATIENCE", patience)
    monkeypatch.setattr(notice, "someone_looks", lambda: looking)
    monkeypatch.setattr(notice.LISTENER, "said", False)
    monkeypatch.setattr(notice.LISTENER, "spent", 0.0)

    @kernel(entry=True)
    def outer(x):
        return inner(x) + 1

    @kernel
    def inner(x):
        return 2 * x

    assert (outer(1), outer(1.5)) == (3, 4.0)
    assert capsys.readouterr().err.count("compiling") == lines
    assert notice.LISTENER.depth == 0
    assert notice.LISTENER.spent > 0


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
