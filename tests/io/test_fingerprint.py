"""A law is known again by what it does, not by its comments."""

import hashlib
import importlib.util
import inspect
from functools import partial

from chasles.io.result.fingerprint import fingerprint, is_same
from chasles.model.user_function import constants_of

FACTOR = 1.0
PLAIN = "def push(t, q):\n    return 2.0 * t + FACTOR * q\n"
SAME = """# a comment
def push(t: float, q) -> float:
    '''What it is.'''
    # why
    return (2.0*t
        + FACTOR * q)
"""


def made(tmp_path, name, text, factor=3.0):
    file = tmp_path / f"{name}.py"
    file.write_text(f"FACTOR = {factor}\n\n{text}")
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.push


def test_comments_layout_and_annotations_do_not_count(tmp_path):
    plain, same = made(tmp_path, "plain", PLAIN), made(tmp_path, "same", SAME)
    assert fingerprint(plain) == fingerprint(same)
    assert is_same(same, fingerprint(plain))
    for other in (
        made(tmp_path, "number", PLAIN.replace("2.0", "2.5")),
        made(tmp_path, "constant", PLAIN, 4.0),
        made(tmp_path, "order", PLAIN.replace("2.0 * t", "t * 2.0")),
    ):
        assert not is_same(other, fingerprint(plain))


def test_files_of_earlier_versions_have_the_source_as_it_stands(tmp_path):
    plain = made(tmp_path, "before", PLAIN)
    words = inspect.getsource(plain) + repr(constants_of(plain))
    assert is_same(plain, {"name": "push", "hash": hashlib.sha256(words.encode()).hexdigest()})


def test_lambdas_and_objects():
    one = lambda t: 2 * t  # noqa: E731
    assert is_same(one, fingerprint(one))
    assert is_same(len, fingerprint(len))


class Doubled:
    def __call__(self, t):
        return 2.0 * t


class Halved:
    def __call__(self, t):
        return 0.5 * t


def scaled(factor, t):
    return factor * t


def shifted(factor, t):
    return factor + t


def test_objects_and_partial_functions_are_told_apart():
    """All of them had one hash, so that runs and studies went on with another function."""
    assert is_same(Doubled(), fingerprint(Doubled()))
    assert not is_same(Halved(), fingerprint(Doubled()))
    three = fingerprint(partial(scaled, 3.0))
    assert is_same(partial(scaled, 3.0), three)
    for other in (partial(scaled, 4.0), partial(shifted, 3.0), partial(scaled, factor=3.0)):
        assert not is_same(other, three)


def test_constants_of_methods_count(monkeypatch):
    class Pull:
        def push(self, t):
            return FACTOR * t

    monkeypatch.setitem(globals(), "FACTOR", 2.0)
    stored = fingerprint(Pull().push)
    assert is_same(Pull().push, stored)
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    assert not is_same(Pull().push, stored)
