"""The result of a simulation: the motion at the saved times, how the run ended, and its certificate."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.cached import cached_property
from chasles.display import html as shown
from chasles.integrate.event import Occurrence
from chasles.integrate.solution import Solution
from chasles.registry import service
from chasles.simulation.motion_curve import curve_ends
from chasles.simulation.nonsmooth.impact import Strike
from chasles.simulation.start.values import StartChange
from chasles.simulation.states import Energies, States, unchanging

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.figure import Figure
    from PIL.Image import Image

    from chasles.certificate.verdict import Certificate


@dataclass(frozen=True, repr=False)
class Run(States):
    """A simulated motion: `States` at the saved times, with the same names in all coordinates.

    `t` [s]; at these times `q`, `v`, `a` of the joints, `poses`, `twists`, `accelerations` of the bodies, `energies`,
    `violations`, `reactions(joint)`, `inputs` and `forces`. run["name"] is the motion of a body or frame,
    run.joint("name") that of a joint. run(times) has all of these at any times in the span. `certificate` says how good
    the run is, `events` what happened, `message` how it ended.
    """

    stored: np.ndarray | None = None  # energies that a file has, with a field for each kind
    task: Any = None  # what `simulate` was asked for
    kept: Callable[[], Certificate] | None = None  # the certificate that a file has, looked at when it is asked for
    partial: bool = False  # whether it is a part of a run
    illustration: str = ""  # what it shows, of a motion that is no solution and is made to be looked at

    @property
    def success(self) -> bool:
        """Whether the run reached its end or a terminal event."""
        return self.solution.success

    @property
    def message(self) -> str:
        """How the run ended."""
        return self.solution.message

    @property
    def events(self) -> list[Occurrence]:
        """Events in the order of time: `event`, `t` [s], and the state `y` at that time."""
        return self.solution.events

    @property
    def strikes(self) -> list[Strike]:
        """Impacts at rigid limits: for each the time [s], the limits, the velocities of the joints before and after,
        and the energy lost [J]."""
        own = self.dynamics.set_valued
        if own is None:
            return []
        held = None if self.held is None else self.dynamics.to_joints(self.held)
        still = self.dynamics.to_joints(None)
        return own.strikes(
            self.dynamics,
            self.solution.events,
            lambda t: still if held is None else held[min(int(np.searchsorted(self.t, t)), len(self.t) - 1)],
        )

    @property
    def options(self) -> dict[str, Any]:
        """The options of `simulate` that the run was computed with."""
        return {} if self.task is None else self.task.options

    @property
    def start_changes(self) -> tuple[StartChange, ...]:
        """What assembly changed at the start: for each joint or body the values before and after."""
        return self.dynamics.start_changes

    @cached_property
    def certificate(self) -> Certificate:
        """How good the run is: see `chasles.certify`. It is computed on first access and kept."""
        if self.kept is not None:
            return self.kept()
        found: Certificate = service("certificate")(self)
        return found

    @cached_property
    def energies(self) -> Energies:
        """Energies [J], (times,) each: `kinetic`, `gravity`, `springs`, `work`, `total`, `balance`."""
        if self.stored is not None:
            return Energies(*(unchanging(self.stored[item.name]) for item in fields(Energies)))
        return Energies(*map(unchanging, self.collected(lambda part: part._kind.energies())))

    def __call__(self, times: ArrayLike) -> States:
        """The motion at any times in the span, on the curve through the saved points."""
        t = np.asarray(times, dtype=float)
        every = None if self.task is None else self.task.more["save"]
        if isinstance(every, int | np.integer) and every > 1:
            raise ValueError(
                f"run(t): save={every} kept one step of {every}, and a curve through these points may be far off; "
                'save="all" keeps the curve of the steps, save=times computes the points at these times'
            )
        between = (
            self.solution.slopes is None and self.solution.consecutive and isinstance(every, str) and every == "all"
        )
        y = self._between(t) if between else self.solution(t)
        given = None if self.given is None else self.given[self._next_point(t)]  # held in the period that ends there
        return States(self.dynamics, Solution(self.solution.space, self.solution.method, t, y, True, ""), given)

    at = __call__

    def _next_point(self, times: np.ndarray) -> np.ndarray:
        """For each time the first saved point that is not before it."""
        found = self.solution.passed(times.reshape(-1), "left").reshape(times.shape)
        return np.minimum(found, len(self.t) - 1)

    def _between(self, times: np.ndarray) -> np.ndarray:
        """States at any times, of a run that has all its points and no slopes."""
        t, y, space = self.solution.t, self.solution.y, self.solution.space
        # a run in pieces has the points after impacts; events have those before
        sticking = self.dynamics.set_valued is not None
        struck = {one.t: one.y for one in reversed(self.events)} if sticking else {}

        def ends(i: np.ndarray) -> tuple[np.ndarray, ...]:
            after = np.array(y[i + 1])
            for k, end in enumerate(t[i + 1]):
                if end in struck:
                    after[k] = self.dynamics.state_of_event(struck[end])
            return curve_ends(space, self.dynamics.nv, y[i], after, t[i + 1] - t[i])

        return self.solution.on_curve(times, ends)

    def part(self, rows: slice) -> Run:
        found = super().part(rows)
        return found if len(found.t) == len(self.t) else replace(found, partial=True, kept=None)

    # ------------------------------------------------------------ to other forms

    def save(self, file: str | Path, quantities: str | Iterable[str] = "all") -> None:
        """Write the run to a result file (.h5), with what can be computed from it, for other programs: see `save_run`.
        A name that ends in .html makes its 3D page instead, which opens in a browser and needs nothing else."""
        if Path(file).suffix.lower() in (".html", ".htm"):
            service("save page")(self, file)
            return
        service("save")(self, Path(file), quantities)

    def export(self, file: str | Path) -> None:
        """Write the run as a table, by the ending of the file: .csv or .npz."""
        service("export")(self, file)

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas.DataFrame with time as its index and the columns of `export`."""
        return service("pandas")(self)

    def to_xarray(self) -> xarray.Dataset:
        """An xarray.Dataset with dimensions time, body and joint."""
        return service("xarray")(self)

    # ------------------------------------------------------------ pictures

    def plot(self, *names: str, file: str | Path | None = None, size: tuple[float, float] | None = None) -> Figure:
        """Draw quantities by name, "energy", "joints.elbow", ..., or an overview, as a matplotlib figure of a size
        [inches], and write it to a file if one is given: see `chasles.plot`."""
        return service("plot")(self, *names, file=file, size=size)

    def picture(self, t: float | None = None, file: str | Path | None = None, **options: Any) -> Image:
        """The mechanism at a time [s], by default the end, as an image, and in a file: see `chasles.view.picture`."""
        return service("picture")(self, t, file, **options)

    def animate(self, file: str | Path, **options: Any) -> Path:
        """Write the motion as .gif or .mp4; options such as fps, speed, size: see `chasles.view.animation`."""
        return service("animate")(self, file, **options)

    def show(self) -> None:
        """Show the run in 3D: inline in a notebook, else in the browser; see `chasles.show`."""
        service("show")(self)

    def report(self, file: str | Path) -> None:
        """Write a report as one HTML file: model, method, certificate, figures, 3D page, how to reproduce it."""
        service("report")(self, file)

    # ------------------------------------------------------------ shown

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        s = self.solution
        times = f"t = {self.t[0]:g} to {self.t[-1]:g} s, {len(self)} points" if len(self) else "no point"
        text = (
            f"{self.mechanism.system.name}: {self._kind}, {times}\n{s.method}: {s.steps} steps, "
            f"{s.rejections} rejected, {s.evaluations} evaluations, {s.seconds:.3g} s\n{s.message}"
        )
        return "\n".join([text, *(f"changed by assembly, {change}" for change in self.start_changes)])

    def _repr_html_(self) -> str:
        title, *lines = str(self).splitlines()
        verdict = self.__dict__.get("certificate")  # if it was asked for
        told = "certificate: not asked for yet, run.certificate" if verdict is None else ""
        return shown.page(title, shown.lines([*lines, told]), "" if verdict is None else verdict._repr_html_())
