"""`chasles view`: runs in 3D, in the browser."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from chasles.cli.model import Changes, Laws

FIRST = 3.0  # seconds that are left to the browser, for the first picture


def view(
    runs: Annotated[list[str], Parameter(negative=(), help="Result files (.h5), or models, which are run first.")],
    /,
    *,
    output: Annotated[
        Path | None, Parameter(name=["--output", "-o"], help="Write the page (.html) instead of showing it.")
    ] = None,
    port: Annotated[int, Parameter(help="Port on 127.0.0.1; 0 selects a free one.")] = 0,
    browser: Annotated[bool, Parameter(help="Open the page in the browser.")] = True,
    wait: Annotated[bool, Parameter(negative=(), help="Wait for result files that do not exist yet.")] = False,
    members: Annotated[
        str | None, Parameter(help="Members of a study to show together, such as 0,5,9; by default eight.")
    ] = None,
    change: Changes = None,
    end: Annotated[
        str | None, Parameter(help="End of the simulation [s], or with a unit, if a model is run first.")
    ] = None,
    law: Laws = None,
) -> None:
    """Show a run in 3D, or several side by side, with energies, drift and certificate.

    The page is served on this machine only, and follows a run in progress. Examples:

        chasles view heavy_top --end 2
        chasles run heavy_top -o top.h5
        chasles view top.h5
        chasles view se3.h5 so3xr3.h5
        chasles view top.h5 -o top.html
        chasles run chain -o chain.h5 & chasles view chain.h5 --wait
        chasles view study.h5 --members 0,5,9
    """
    from chasles.cli.model import labeled
    from chasles.cli.run import seconds

    until = seconds("--end", end)
    if show_study(runs, members, output, law):
        return
    named = labeled(runs)
    if wait:
        for name in runs:
            wait_for(Path(name))
    if output is not None:
        write(named, output, law, change, until)
        return
    from chasles.view.server import Viewer

    several = len(named) > 1
    server = Viewer({label if several else "": source(name, law, change, until) for label, name in named.items()}, port)
    print(f"{server.address} shows {', '.join(runs)}; Ctrl-C ends", flush=True)
    threading.Thread(target=prepare, args=(server,), daemon=True).start()
    if browser:
        import webbrowser

        threading.Thread(target=webbrowser.open, args=(server.address,), daemon=True).start()
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print()
        server.server_close()
        leave()
    finally:
        server.server_close()
    if server.failure:
        raise server.failure


def show_study(runs: list[str], members: str | None, output: Path | None, laws: list[Path] | None) -> bool:
    """Show members of a study, if the file is one: the others are ghosts around the first."""
    from chasles.cli.model import laws_in
    from chasles.ensembles.study_file import is_study, open_study

    path = Path(runs[0])
    if path.suffix != ".h5" or not path.is_file() or not is_study(path):
        if members is not None:
            raise ValueError(f"view: --members is for a study; {runs[0]} is not a study")
        return False
    if len(runs) > 1:
        raise ValueError(f"view: {path.name} is a study; view it alone")
    try:
        chosen = None if members is None else [int(one) for one in members.split(",")]
    except ValueError:
        raise ValueError(f"view: --members {members}; expected numbers such as 0,5,9") from None
    page = open_study(path, None, laws_in(laws)).page(chosen)
    if output is None:
        page.open()
    else:
        page.save(output)
        print(f"wrote {output}, {output.stat().st_size / 1e6:.1f} MB")
    return True


def leave() -> None:
    """End the command though threads still work on the page. The usual end of Python stops them where they are.
    They may hold locks of h5py or of the compiler, and Python would wait for these for ever."""
    if threading.active_count() > 1:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def wait_for(path: Path) -> None:
    """Until there is a file, which takes its name when it is complete."""
    if path.suffix.lower() not in (".h5", ".hdf5") or path.exists():
        return
    print(f"waiting for {path}; Ctrl-C ends", flush=True)
    while not path.exists():
        time.sleep(0.1)


def source(name: str, laws: Laws = None, change: Changes = None, end: float | None = None) -> Any:
    """A result file as it is, which may still grow; the run of a model."""
    from chasles.cli.model import find_run, is_result

    path = Path(name)
    return path if path.is_file() and is_result(path) and not change else find_run(name, change, end, laws)


def prepare(server: Any) -> None:
    """Read what is needed for the first look, and when that is seen, or after a while, all of the runs. If one of them
    cannot be shown, there is nothing to serve."""
    from chasles.view.server import NotYetError

    try:
        server.data()
        server.asked.wait(FIRST)
        for watched in server.watched:
            watched.look()
    except NotYetError as error:
        print(f"chasles: {error}", flush=True)
    except (ValueError, ArithmeticError) as error:
        server.failure = error
        server.shutdown()
    except OSError as error:
        server.failure = ValueError(f"view: {error.filename}: {error.strerror}")
        server.shutdown()


def write(
    named: dict[str, str], output: Path, laws: Laws = None, change: Changes = None, end: float | None = None
) -> None:
    """The page as a file."""
    from chasles.cli.model import find_run
    from chasles.view.page import Page

    found = [find_run(name, change, end, laws) for name in named.values()]
    page = Page(*found, labels=tuple(named) if len(named) > 1 else ())
    for note in (note for run in page.data["runs"] for note in run["scene"]["notes"]):
        print(note, file=sys.stderr)  # what is not drawn
    try:
        page.save(output)
    except OSError as error:
        raise ValueError(f"view: {error.filename or output}: {error.strerror}") from None
    print(f"wrote {output}, {output.stat().st_size / 1e6:.1f} MB")
