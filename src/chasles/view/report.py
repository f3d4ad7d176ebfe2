"""The report of a run: model, method, certificate, figures, 3D page and how to do it again, in one HTML file.

It needs nothing else and no network. All text of a model is escaped, and a security policy lets only the style and the
script of the 3D page run.
"""

from __future__ import annotations

import base64
import html
import io
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from chasles.display import style
from chasles.io.result.header import describe as header_of
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.joint import Joint
from chasles.model.scale import length_of
from chasles.view.citations import citations
from chasles.view.method_text import described
from chasles.view.model_of_run import repeated
from chasles.view.page import Page
from chasles.view.page_html import page_text
from chasles.view.plot import plot
from chasles.view.plot_parts import ROUNDING
from chasles.view.report_html import LISTED, escaped, report_page, report_table, rounded, section
from chasles.view.series import ARROWS, left_out, reactions_of, thinned

JOINTS = 6  # panels of joints
PICTURE = (900, 660)  # pixels


def report(run: Any, file: str | Path | None = None, *, header: Mapping[str, Any] | None = None) -> str:
    """The report of a run as HTML, written to a `file` if one is given. header: of the result file it was read from,
    which says when and by which command it was made."""
    path = None if file is None else style.with_ending(file, *style.PAGES)
    if run.task is None:
        raise ValueError("report: this run does not know how it was made; take what `simulate` or `open` gives")
    known = header_of(run.task)[0] | ({} if header is None else dict(header))
    if header is None:
        known.pop("command")  # that of the program which makes the report
    body = "".join(
        [
            _head(run),
            section("Model", _model(run)),
            section("Start", _start(run)),
            section("Method", _method(run, known)),
            section("Certificate", _certificate(run)),
            section("Figures", _figures(run) + _reactions(run) + _forces(run)),
            section("Events", _events(run)) if run.events else "",
            section("3D view", _page(run)) if len(run) else "",
            section("Reproduce this run", _again(run, known)),
            section("Cite", "<ol>" + "".join(f"<li>{escaped(item)}</li>" for item in _cited(run, known)) + "</ol>"),
        ]
    )
    text = report_page(f"Report of {run.mechanism.system.name}", body, motion=True)
    if path is not None:
        style.put(text.encode(), path)
    return text


# ------------------------------------------------------------ sections


def _head(run: Any) -> str:
    certificate = run.certificate
    verdict = f'<span class="verdict {"good" if certificate.passed else "bad"}">'
    verdict += f"{'✓' if certificate.passed else '✗'} certificate {escaped(certificate.status)}</span>"
    times = f"t = {run.t[0]:g} to {run.t[-1]:g} s, {len(run)} points" if len(run) else "no point"
    return (
        f'<h1>{escaped(run.mechanism.system.name)}</h1><p class="soft">{escaped(described(run))}; {times}; '
        f"{escaped(run.message)}</p>{verdict}"
    )


def _model(run: Any) -> str:
    system = run.mechanism.system
    bodies = [
        (body.name, rounded(body.mass), _numbers(body.com), _numbers([body.inertia[k][k] for k in range(3)]))
        for body in system.bodies
    ]
    joints = [
        (joint.name, joint.kind, joint.parent, joint.child, _numbers(joint.parent_frame[4:]), _axes(joint))
        for joint in system.joints
    ]
    more = [(item.name, type(item).__name__) for item in (*system.forces, *system.actuators, *system.constraints)]
    counts = [
        _count(system.bodies, "body", "bodies"),
        _count(system.joints, "joint", "joints"),
        _count(system.forces, "force", "forces"),
        _count(system.constraints, "further constraint", "further constraints"),
    ]
    says = f"<p>{', '.join(filter(None, counts))}; gravity {_numbers(system.gravity)} m/s².</p>"
    drawn = ""
    if len(run):
        middle = 0.5 * (run.t[0] + run.t[-1])
        alt = f"The mechanism at t = {middle:.4g} s"
        drawn = f'<figure><img class="picture" alt="{alt}" src="{_image(run.picture(middle, size=PICTURE))}">'
        drawn += f'<figcaption class="soft">{alt}</figcaption></figure>'
    tables = [
        report_table(("body", "mass [kg]", "center of mass [m]", "moments of inertia [kg m²]"), bodies, numbers=(1,)),
        report_table(("joint", "kind", "parent", "child", "place on the parent [m]", "axis there"), joints),
        report_table(("force, actuator or constraint", "kind"), more),
    ]
    top = f'<div class="side"><div>{drawn}</div>{tables[2]}</div>' if tables[2] else f'<div class="alone">{drawn}</div>'
    return f"{says}{top}{tables[1]}{tables[0]}"


def _start(run: Any) -> str:
    """The start that was taken, and what assembly changed of it."""
    values = [(one.joint, one.q, one.q_from, one.v, one.v_from) for one in run.task.start_values]
    taken = report_table(("joint", "coordinates", "", "velocities", ""), values)
    if not run.start_changes:
        return taken
    rows = [
        (one.name, one.quantity, _numbers(one.before), _numbers(one.after), one.unit, "given" if one.given else "")
        for one in run.start_changes
    ]
    table = report_table(("joint or body", "quantity", "before", "after", "unit", ""), rows)
    return f"{taken}<p>Assembly moved the start onto the constraints and changed these values:</p>{table}"


def _method(run: Any, header: Mapping[str, Any]) -> str:
    solution, how = run.solution, header["dynamics"]
    rows = [("method", str(solution.method))]
    if run.coordinates == "absolute":
        spaces = sorted(set(run.mechanism.spaces.values()))
        rows.append(("coordinates", f"absolute, on {' and '.join(spaces)}"))
    else:
        rows.append(("coordinates", "of the joints" + (", loops closed by constraints" if "cut" in how else "")))
    rows += [(name, f"{value:g}") for name, value in run.options.items() if value is not None]
    work = f"{solution.steps} taken, {solution.rejections} rejected; {solution.evaluations} evaluations"
    rows += [("steps", work), ("time", f"{solution.seconds:.3g} s")]
    rows.append(("made", header["created"]) if "command" in header else ("reported", header["created"]))
    rows.append(("versions", ", ".join(f"{name} {value}" for name, value in header["versions"].items())))
    return report_table((), rows)


def _certificate(run: Any) -> str:
    certificate = run.certificate
    rows = [
        (
            finding.name,
            finding.shown,
            f"≤ {finding.allowed}" if finding.judged else "",
            finding.mark,
            finding.note,
        )
        for finding in certificate.findings
    ]
    table = report_table(("", "value", "at most", "", ""), rows, numbers=(1, 2))
    return table + "".join(f"<p>{escaped(line)}</p>" for line in certificate.after())


def _figures(run: Any) -> str:
    if not len(run):
        return "<p>There is no point to draw.</p>"
    names = ["energy", "energy.drift"]
    if run.constraints:
        names.append("drift")
    if run.options.get("step") is None:
        names.append("steps")
    if run.given is not None:
        names += ["inputs", "forces"]
    moving = run.moving_joints
    if len(moving) <= JOINTS:
        names += [f"joints.{joint.name}" for joint in moving]
    buffer = io.BytesIO()
    plot(run, *names).savefig(buffer, format="svg", metadata={"Date": None})
    source = "data:image/svg+xml;base64," + base64.b64encode(buffer.getvalue()).decode()
    return f'<figure><img class="chart" alt="{escaped(", ".join(names))} over time" src="{source}"></figure>'


def _reactions(run: Any) -> str:
    """The largest force and torque of each joint whose reactions are known."""
    notes: list[str] = []
    t, wrenches = reactions_of(run, notes)
    length = length_of(run.system)
    said = "".join(f"<p>{escaped(note)}.</p>" for note in notes)
    rows = []
    for name, wrench in wrenches.items():
        sizes = [np.linalg.norm(wrench[:, part], axis=1) for part in (slice(3, 6), slice(0, 3))]
        if sizes[1].max(initial=0.0) <= ROUNDING * length * sizes[0].max(initial=0.0):
            sizes[1][:] = 0.0  # of a planar pin: what rounding leaves
        rows.append((name, *(text for size in sizes for text in (rounded(size.max()), f"{t[size.argmax()]:.4g}"))))
    if not rows:
        return said
    head = ("reaction of", "largest force [N]", "at t [s]", "largest torque [N m]", "at t [s]")
    often = "all saved times" if len(t) == len(run) else f"{len(t)} of the saved times"
    return f'{report_table(head, rows, numbers=(1, 2, 3, 4))}<p class="soft">Largest of {often}.</p>{said}'


def _forces(run: Any) -> str:
    """The largest and smallest of each force that something exerts by itself."""
    part, rows, notes = thinned(run, ARROWS), [], list[str]()
    for name in run.force_names[:LISTED] if len(run) else ():
        try:
            values = part.force(name)
        except (ValueError, ArithmeticError) as error:  # such as a law that is not in the file
            left_out(notes, f"Force of {name}", error)
            continue
        for column, own in zip(run.force_columns(name), values.T, strict=True):
            ends = [text for k in (own.argmin(), own.argmax()) for text in (rounded(own[k]), f"{part.t[k]:.4g}")]
            rows.append((name, column.part, column.unit, *ends))
    head = ("force of", "", "unit", "smallest", "at t [s]", "largest", "at t [s]")
    said = "".join(f"<p>{escaped(note)}.</p>" for note in notes)
    return report_table(head, rows, numbers=(3, 4, 5, 6)) + said


def _events(run: Any) -> str:
    """What happened and when: impacts with the energy that they cost, sticking, slipping, events of the user."""
    lost = {(strike.t, name): strike.lost for strike in run.strikes for name in strike.names[:1]}
    rows = [
        (f"{one.t:.9g}", one.event.name, rounded(lost[key]) if (key := (one.t, one.event.name)) in lost else "")
        for one in run.events
    ]
    return report_table(("t [s]", "event", "energy lost [J]"), rows, numbers=(0, 2))


def _page(run: Any) -> str:
    page = html.escape(page_text(Page(run).data), quote=True)
    return f'<iframe title="The run in 3D" loading="lazy" sandbox="allow-scripts" srcdoc="{page}"></iframe>'


def _again(run: Any, header: Mapping[str, Any]) -> str:
    text, missing = repeated(run)
    parts = []
    if command := header.get("command"):
        program = Path(command[0]).name
        words = ["chasles" if program == "__main__.py" else program, *map(_without_folder, command[1:])]
        parts.append(f"<p>This command created the run:</p><pre>{escaped(shlex.join(words))}</pre>")
    parts.append("<p>To repeat it, save the model below as <code>model.toml</code> and run</p>")
    parts.append("<pre>chasles run model.toml</pre><p>or in Python</p>")
    parts.append('<pre>import chasles as ch\n\nrun = ch.load("model.toml").run()</pre>')
    if missing:
        parts.append(f"<p>The file does not contain: {escaped('; '.join(missing))}.</p>")
    parts.append(f"<details><summary>model.toml</summary><pre>{escaped(text)}</pre></details>")
    return "".join(parts)


def _without_folder(word: str) -> str:
    """A word of a command, with the name alone of a file that was given with all its folders."""
    option, equals, value = word.rpartition("=")
    return f"{option}{equals}{Path(value).name}" if Path(value).is_absolute() else word


def _cited(run: Any, header: Mapping[str, Any]) -> list[str]:
    return citations(run, header["versions"]["chasles"])


# ------------------------------------------------------------ pieces


def _axes(joint: Joint) -> str:
    """The axes of a joint in the frame of its parent, before it moves."""
    turn = quaternion_to_matrix(np.array(joint.parent_frame[:4]))
    found = [turn @ np.array(screw[:3] if any(screw[:3]) else screw[3:]) for screw in joint.screws]
    return "; ".join(dict.fromkeys(_numbers(np.round(axis, 9) + 0.0) for axis in found))


def _numbers(values: Iterable[float]) -> str:
    return ", ".join(rounded(value) for value in values)


def _count(items: Sequence[Any], one: str, several: str) -> str:
    return f"{len(items)} {one if len(items) == 1 else several}" if items else ""


def _image(image: Any) -> str:
    from PIL import WebPImagePlugin as WebPImagePlugin  # else Pillow loads all of its forty kinds of images to find it

    buffer = io.BytesIO()
    image.save(buffer, "WEBP", quality=90, method=2)  # as good as usual in half the time, for 4 % more bytes
    return "data:image/webp;base64," + base64.b64encode(buffer.getvalue()).decode()
