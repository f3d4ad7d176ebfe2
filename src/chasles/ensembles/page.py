"""The 3D page of a study: one member is drawn, other members around it as ghosts, and a scatter plot opens them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from chasles.ensembles.result import Ensemble
from chasles.ensembles.work import TIMES_OF_SERIES
from chasles.model.suggestion import meant
from chasles.view.page import Page

FEW, MOST = 8, 40  # members on a page, if none are chosen, and at most: each is computed again


def page(study: Ensemble, members: Iterable[int] | None = None, over: str | None = None, of: str | None = None) -> Page:
    """The page of chosen members, with a plot of the quantity `of` over the parameter `over`."""
    numbers = {
        name: np.asarray(values)
        for name, values in {**study.parameters, **study.quantities}.items()
        if np.ndim(values) == 1 and name != TIMES_OF_SERIES
    }
    x, y = (_named(numbers, name, what) for name, what in ((over, "over"), (of, "of")))
    x = x or next((name for name in study.parameters if name in numbers), "")
    y = y or next((name for name in study.quantities if name in numbers), x)
    if not x:
        raise ValueError("page: the study has no parameter of one number, so there is nothing to draw the members over")
    chosen = _chosen(study, members)
    there = np.flatnonzero(np.isfinite(numbers[x]) & np.isfinite(numbers[y]))
    runs = [study.member(i) for i in chosen]
    return Page(
        *runs,
        labels=tuple(f"member {i}" for i in chosen),
        study={
            "members": chosen,
            "every": there.tolist(),
            "x": numbers[x][there].tolist(),
            "y": numbers[y][there].tolist(),
            "label": [x, y],
        },
    )


def _named(numbers: dict[str, np.ndarray], name: str | None, what: str) -> str:
    """A name of what has one number for each member; nothing if none is given."""
    if name is not None and name not in numbers:
        known = ", ".join(numbers)
        raise ValueError(
            f"page: {what}={name!r} is not a number of each member; {meant(name, numbers)}there are {known}"
        )
    return name or ""


def _chosen(study: Ensemble, members: Any) -> list[int]:
    """The members that are shown: some of those that have a result, if none are given."""
    if members is None:
        good = np.setdiff1d(np.arange(len(study)), study.failed)
        found: list[int] = good[np.unique(np.linspace(0, len(good) - 1, FEW).astype(int))].tolist() if len(good) else []
    else:
        found = list(dict.fromkeys(int(i) for i in members))
    if not found:
        raise ValueError("page: there is no member to show")
    if len(found) > MOST:
        raise ValueError(f"page: {len(found)} members; expected at most {MOST}, each of which is computed again")
    for i in found:
        if not 0 <= i < len(study):
            raise ValueError(f"page: there is no member {i}; there are {len(study)}")
        if i in study.failed:
            raise ValueError(f"page: member {i} has no run to show: {study.messages[i]}")
    return found
