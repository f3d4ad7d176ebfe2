"""Fronts of machine code: what they take, what they refuse, what they give back."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from chasles.kernel.policy import CHECKED, COMPILED, PLAIN, kernel

pytestmark = pytest.mark.skipif(not COMPILED or CHECKED or PLAIN, reason="fronts are for kept machine code")


def every_kind(rows, n, x, flag, pair):
    """A sum over all that is given; the first number of the array is counted up."""
    total = x * n + pair[0][0] + pair[1]
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            total += (1 + 10 * i + 100 * j) * rows[i, j]
    rows[0, 0] += 1.0
    return n, (total, not flag), rows.shape[0]


every_kind.__module__ = "chasles.kernel.policy"  # so that it is kept
ROWS, PAIR = np.arange(6.0).reshape(2, 3), (np.array([0.25]), 3)


def expected(rows, n, x, flag, pair):
    weights = 1 + 10 * np.arange(rows.shape[0])[:, None] + 100 * np.arange(rows.shape[1])
    return n, (x * n + pair[0][0] + pair[1] + (weights * rows).sum(), not flag), rows.shape[0]


@pytest.fixture(scope="module")
def function():
    return kernel(entry=True)(every_kind)


class Named(np.ndarray):
    """A subclass, which is taken as the array that it is."""


@pytest.mark.parametrize(
    ("n", "x", "flag", "rows"),
    [
        (3, 0.5, True, ROWS),
        (np.int32(3), np.float64(0.5), np.bool_(True), ROWS.view(Named)),
        (-(2**63), np.float32(0.5), False, ROWS[:1]),
    ],
)
def test_arguments_of_python_and_of_numpy(function, n, x, flag, rows):
    rows = rows.copy()
    right = expected(np.asarray(rows), int(n), float(x), bool(flag), PAIR)
    before = rows[0, 0]
    found = function(rows, n, x, flag, PAIR)
    assert found == right
    assert rows[0, 0] == before + 1.0  # the array itself, no copy
    assert [type(one) for one in (found[0], *found[1])] == [int, float, bool]
    assert len(function.signatures) == 1


def test_what_does_not_fit_is_refused_with_its_reason(function):
    with pytest.raises(OverflowError):
        function(ROWS.copy(), 2**63, 0.5, True, PAIR)
    with pytest.raises(TypeError, match="no arrays of complex128"):
        function(ROWS.astype(complex), 3, 0.5, True, PAIR)
    with pytest.raises(TypeError, match="numbers, arrays of numbers and tuples of them, not <class 'str'>"):
        function(ROWS.copy(), 3, "0.5", True, PAIR)
    assert len(function.signatures) == 1


def test_threads_share_one_code(function):
    found = []

    def call():
        rows = ROWS.copy()
        for _ in range(200):
            found.append(function(rows, 3, 0.5, True, PAIR)[0])

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [3] * 800


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_process_does_not_wait_for_a_thread_that_it_does_not_have():
    """A thread compiles while the process forks: the child compiles for itself."""
    script = """
import os, signal, threading
from chasles import lie
from chasles.kernel import machine_code

compiling, over = threading.Event(), threading.Event()

def compile():
    with machine_code._LOCK:
        compiling.set()
        over.wait(0.2)

thread = threading.Thread(target=compile)
thread.start()
compiling.wait()
child = os.fork()
if not child:
    signal.alarm(60)
    os._exit(int(lie.so3.hat([1.0, 2.0, 3.0])[2, 1]))
thread.join()
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    result = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout == "1\n"
