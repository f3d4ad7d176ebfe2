"""A browser for all tests of the page, and runs that other tests compile too."""

import pytest

from tests.io.result_models import CASES
from tools.chromium import Browser, executable


@pytest.fixture(scope="session")
def browser():
    if executable() is None:
        pytest.skip(reason="Chromium is not installed (Debian: apt-get install chromium), so the page is not drawn")
    with Browser(800, 500) as made:
        yield made


class Made(dict):
    """What is made when a test asks for it."""

    def __init__(self, make):
        self.make = make

    def __missing__(self, name):
        self[name] = self.make(name)
        return self[name]


@pytest.fixture(scope="session")
def runs():
    """An adaptive run with few saved points, and one in absolute coordinates."""
    return Made(lambda case: CASES[case](2.0))


@pytest.fixture(scope="session")
def pages(runs, tmp_path_factory):
    """The page of each run."""
    folder = tmp_path_factory.mktemp("pages")

    def save(case):
        runs[case].save(folder / f"{case}.html")
        return folder / f"{case}.html"

    return Made(save)


@pytest.fixture(autouse=True)
def kept_pages(tmp_path, monkeypatch):
    """Pages are kept in a folder of the test."""
    monkeypatch.setattr("chasles.view.page_cache.folder", lambda: tmp_path / "pages")
