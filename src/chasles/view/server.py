"""`chasles view`: the page on 127.0.0.1, with the runs read from their files, also while these still grow.

The page is served at once and asks for its data. The first answer is what can be shown without anything compiled;
the rest follows as news.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from chasles.view import page_cache as kept
from chasles.view.page_html import as_json, digest, page_data, page_text
from chasles.view.preview import glance

ADDRESS = "127.0.0.1"
PAUSE = 0.5  # seconds between two looks at a file
PATIENCE = 10.0  # seconds for a request to come whole, and for an answer to be taken
# what news tell of a run, beside its motion
NEWS = ("model", "turn", "version", "span", "ended", "success", "message", "series", "reactions", "certificate")


class NotYetError(ValueError):
    """A run that has only just begun."""


class Watched:
    """A run that is shown: a result file, and how much of it is known, or a run in memory."""

    def __init__(self, source: Any, label: str):
        self.source, self.label = source, label
        self.data: dict[str, Any] = {}
        self.seen: dict[str, Any] | None = None  # the first look
        self.motion: Any = None
        self.looked, self.rows = 0.0, 0
        self.turn = self.version = 0  # count motions that took the place of others, and all that is new
        self.state: Any = ()
        self.which = ""  # run is in the file
        self.lock = threading.Lock()

    @property
    def ended(self) -> bool:
        return bool(self.data) and self.data["ended"]

    def first(self) -> dict[str, Any]:
        """What can be shown at once: all of a run that was shown before, else the scene, if the file has it. This does
        not wait while the run is read."""
        if not self.data and isinstance(self.source, Path):
            if self.seen is None and (known := kept.find(self.source)):
                with self.lock:
                    self.state = self._state()
                    self._set(known)
            else:
                self.seen = self.seen or glance(self.source)
                if self.seen:
                    return self.seen | {"label": self.label or self.seen["method"]}
        return self.look()

    def look(self) -> dict[str, Any]:
        """The data of the run as far as it is in the file now."""
        with self.lock:
            if self.data and time.monotonic() - self.looked < PAUSE:
                return self.data
            state = self._state()
            if state != self.state:
                self._read()
                self.state = state
            self.looked = time.monotonic()
            return self.data

    def _state(self) -> Any:
        """What changes if the file does; always the same of a run in memory."""
        if not isinstance(self.source, Path):
            return None
        try:
            found = self.source.stat()
        except OSError:
            return self.state or None  # it is gone: what was read is still shown
        return found.st_ino, found.st_size, found.st_mtime_ns

    def _read(self) -> None:
        from chasles.io.result.reader import read, run_of, task_for
        from chasles.view.page_data import PageMotion, run_data
        from chasles.view.scene import scene_of

        if not isinstance(self.source, Path):
            self._set(run_data(self.source))
            return
        target = kept.place(self.source)
        stored = read(self.source)
        run = run_of(stored, task_for(stored))
        ended = stored.outcome is not None
        if not len(run) and not ended:
            raise NotYetError(f"{self.source} has no saved point yet")
        which = digest(json.dumps(stored.header) + stored.model + stored.start.tobytes().hex())
        # another run in the same place; or at its end looked at all over, as not all was seen while it went on
        anew = which != self.which or len(run) < self.rows or (ended and self.motion.every > 1)
        if not anew and len(run) == self.rows and not ended:
            return
        if anew:
            self.turn += bool(self.data)
            self.motion = PageMotion(scene_of(run))
        self.which, self.rows = which, len(run)
        self._set(run_data(run, "", self.motion, ended) | {"model": digest(stored.model)})
        if ended:
            kept.keep(target, self.data)

    def _set(self, data: dict[str, Any]) -> None:
        self.version += 1
        self.data = data | {"label": self.label or data["method"], "turn": self.turn, "version": self.version}


class Viewer(ThreadingHTTPServer):
    """Serves the page of result files, or of runs in memory, on this machine only."""

    daemon_threads = True

    def __init__(self, runs: Mapping[str, Any], port: int = 0):
        """`runs` by label; "" leaves it to the run."""
        self.watched = [Watched(run, label) for label, run in runs.items()]
        self.failure: Exception | None = None  # why there is nothing to show
        self.page = page_text(None, served=True)  # at hand when the browser asks
        self.asked = threading.Event()  # a page shows the first look, and asks for the rest
        try:
            super().__init__((ADDRESS, port), Handler)
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or error
            raise ValueError(f"view: port {port} of {ADDRESS} cannot be used: {why}; give another") from None
        self.hosts = {f"{name}:{self.server_port}" for name in (ADDRESS, "localhost")}

    @property
    def address(self) -> str:
        return f"http://{ADDRESS}:{self.server_port}/"

    def data(self) -> dict[str, Any]:
        """What the page begins with. It asks for the news of runs that go on, and of those that are being read."""
        runs = [watched.first() for watched in self.watched]
        return page_data(runs, live=not all(run["ended"] for run in runs))

    def news(self, have: list[tuple[int, int, int]]) -> dict[str, Any]:
        """What is new for a page that has so many blocks of each run, of which motion of it, and of which version."""
        runs: list[dict[str, Any] | None] = []
        for watched, (count, turn, version) in zip(self.watched, have, strict=True):
            run = watched.look()
            if (turn, version) == (run["turn"], run["version"]):
                runs.append(None)
                continue
            new = {key: run[key] for key in NEWS if key in run}
            blocks = run["motion"]["blocks"][count if turn == run["turn"] else 0 :]
            motion = {
                key: run["motion"][key] for key in ("tolerance", "error", "checked", "saved", "every", "lost", "curve")
            }
            runs.append(new | {"blocks": blocks, "motion": motion, "hull": run["scene"]["hull"]})
        return {"runs": runs, "live": not all(watched.ended for watched in self.watched)}


class Handler(BaseHTTPRequestHandler):
    server: Viewer
    protocol_version = "HTTP/1.1"

    def handle_one_request(self) -> None:
        """A request that does not come to its end, however slowly it goes on, is given up."""
        self.connection.settimeout(PATIENCE)  # for each piece of a request or answer
        self.late = threading.Timer(PATIENCE, self._give_up)
        self.late.daemon = True
        self.late.start()
        try:
            super().handle_one_request()
        except ConnectionError:
            self.close_connection = True
        finally:
            self.late.cancel()

    def _give_up(self) -> None:
        with suppress(OSError):  # it is closed
            self.connection.shutdown(socket.SHUT_RDWR)

    def do_GET(self) -> None:
        self.late.cancel()  # it came; an answer may take its time
        if self.headers.get("Host") not in self.server.hosts:  # a name that another site made point here
            self.answer(HTTPStatus.FORBIDDEN, "text/plain", f"this page is {self.server.address} only")
            return
        parts = urlsplit(self.path)
        try:
            if parts.path == "/":
                self.answer(HTTPStatus.OK, "text/html", self.server.page)
            elif parts.path == "/data":
                self.answer(HTTPStatus.OK, "application/json", as_json(self.server.data()))
            elif parts.path == "/news":
                asked = parse_qs(parts.query).get("have", [""])[0].split(",")
                have = [(int(a), int(b), int(c)) for a, b, c in (text.split(".") for text in asked)]
                self.server.asked.set()
                self.answer(HTTPStatus.OK, "application/json", as_json(self.server.news(have)))
            else:
                self.answer(HTTPStatus.NOT_FOUND, "text/plain", "there is nothing here")
        except NotYetError as error:
            self.answer(HTTPStatus.SERVICE_UNAVAILABLE, "text/plain", str(error))
        except (ValueError, ArithmeticError) as error:
            self.answer(HTTPStatus.BAD_REQUEST, "text/plain", str(error))
        except (ConnectionError, TimeoutError):
            self.close_connection = True  # the page was closed, or does not read
        except OSError as error:  # the file is gone
            self.answer(HTTPStatus.BAD_REQUEST, "text/plain", f"{error.filename}: {error.strerror}")

    def answer(self, status: HTTPStatus, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response(status)
        headers = {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(data)),
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""
