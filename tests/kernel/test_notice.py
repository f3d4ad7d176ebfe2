"""Who waits for the compiler is told so, once."""

import pytest

from chasles.kernel import notice
from chasles.kernel.policy import COMPILED, kernel

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
