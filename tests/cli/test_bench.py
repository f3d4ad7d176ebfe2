"""The speed board: what it says before it measures, and how rows become a table."""

import json
from pathlib import Path

import pytest

from benchmarks import board
from chasles.cli.bench import bench


def test_outside_of_a_clone_it_says_where_to_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="has no benchmarks; go to a clone of chasles"):
        bench()


def test_an_unknown_work_is_named() -> None:
    with pytest.raises(ValueError, match="there is no work 'nothing'; there are trees, absolute"):
        board.run(["nothing"])


def test_rows_are_sorted_and_falls_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = iter([(1.0, 2.0), (1.0, 4.0), (1.0, 3.0)])

    def prepare():
        def once():
            ours, theirs = next(rounds)
            yield "fast", "peer", ours, theirs
            yield "slow", "peer", 2.0, 1.0

        return once

    monkeypatch.setitem(board.WORKS, "own", ("json", prepare))
    monkeypatch.setitem(board.WORKS, "absent", ("no_such_module", prepare))
    rows, missing = board.measured(["own", "absent"], 3, lambda text: None)
    assert [(row.name, row.ratio) for row in rows] == [("slow", 0.5), ("fast", 3.0)]
    assert missing == ["no_such_module"]
    assert board.cells(rows[0])[-2:] == ["**0.5**", "0.5 to 0.5"]
    assert board.cells(rows[1])[2:] == ["1 s", "2 s", "3", "2 to 4"]
    assert board.seconds(4.4444e-2) == "44.4 ms"
    assert board.seconds(9.34e-9) == "9.34 ns"
    assert board.digits(403.7, 2) == "400"
    record = tmp_path / "board.json"
    record.write_text(json.dumps({"fast / peer": 4.0, "slow / peer": 0.5}), encoding="utf-8")
    monkeypatch.setattr(board, "RECORD", record)
    assert board.falls(rows) == ["fast / peer: 3.00, recorded 4.00"]
