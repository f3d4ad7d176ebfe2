"""Ctrl-C while something is loaded: what is half loaded stays for the session, or speaks of itself as it ends."""

import os
import subprocess
import sys

import pytest

from tests.waiting import LONGEST

INTERRUPT = """
import os, signal, sys

class AtModule:
    # Ctrl-C comes as a module is looked for
    def __init__(self, name):
        self.name = name

    def find_spec(self, name, path=None, target=None):
        if name == self.name:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
"""
PLOT = """
sys.meta_path.insert(0, AtModule("matplotlib.transforms"))
from chasles.display import style
for attempt in range(2):
    try:
        style.picture(3, 3).add_subplot().plot([0, 1])
        print("drawn")
    except KeyboardInterrupt:
        print("interrupted, with matplotlib" if "matplotlib.ticker" in sys.modules else "interrupted, without")
"""
COMMAND = """
sys.meta_path.insert(0, AtModule("chasles.cli.listing"))
sys.argv = ["chasles", "list"]
from chasles.__main__ import main
main()
"""


def said(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", INTERRUPT + program],
        capture_output=True,
        text=True,
        timeout=LONGEST,
        env=os.environ,
    )


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_in_the_first_plot():
    found = said(PLOT)
    assert found.stdout.splitlines() == ["interrupted, with matplotlib", "drawn"], found.stderr


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_before_a_command_is_loaded():
    found = said(COMMAND)
    assert (found.returncode, found.stdout, found.stderr) == (130, "", "chasles: interrupted\n")
