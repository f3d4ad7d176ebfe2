"""Properties computed once, on objects that threads share."""

import re
import threading
from pathlib import Path

import chasles
from chasles.cached import cached_property


class Crossed:
    """Two properties, of which one needs the other, for one object this way and for another the other way round."""

    meeting = threading.Barrier(2)

    def __init__(self, first: bool):
        self.first, self.count = first, 0

    @cached_property
    def left(self) -> int:
        self.count += 1
        if self.first:
            self.meeting.wait(20)
            return self.right + 1
        return 1

    @cached_property
    def right(self) -> int:
        if not self.first:
            self.meeting.wait(20)
            return self.left + 1
        return 1


def test_threads_do_not_wait_for_each_other():
    one, two = Crossed(True), Crossed(False)
    found = []
    jobs = [lambda: found.append(one.left), lambda: found.append(two.right)]
    threads = [threading.Thread(target=job, daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert found == [2, 2]
    assert (one.left, one.count) == (2, 1)


def test_no_module_takes_that_of_python():
    """In Python 3.11 it has one lock for all objects."""
    for path in Path(chasles.__file__).parent.rglob("*.py"):
        if path.name != "cached.py":
            text = path.read_text()
            assert not re.search(r"functools\.cached_property|from functools import .*cached_property", text), path
