"""The text of the page: markup, style, data and script in one file, with a policy that lets nothing else run.

Nothing heavy is imported here, so that the page can be served while the rest is still loaded.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import sys
from importlib.resources import files
from typing import Any

from chasles.display.html import visible

FORMAT = 1  # of the data
FILES = ("page.html", "page.css", "page.js")


def page_data(runs: list[dict[str, Any]], live: bool = False) -> dict[str, Any]:
    """What a page is made of: the data of its runs; `live` if one of them still goes on."""
    return {"format": FORMAT, "chasles": version(), "live": live, "runs": runs}


def version() -> str:
    return sys.modules["chasles"].__version__


def page_text(data: Any, served: bool = False) -> str:
    """The page as text. Scripts and styles run only if their hash is the one in its security policy, so nothing that
    a model or a file says can run; `served` pages may ask their own server for more."""
    markup, style, script = (read(name) for name in FILES)
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src '{digest(script)}'",
            f"style-src '{digest(style)}'",
            "img-src data:",
            f"connect-src {chr(39)}{'self' if served else 'none'}{chr(39)}",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    parts = {
        "policy": policy,
        "title": html.escape(visible(" | ".join(run["name"] for run in data["runs"])) or "chasles")
        if data
        else "chasles",
        "style": style,
        "data": as_json(data),
        "script": script,
    }
    first, *rest = markup.split("{{")
    text = [first]
    for piece in rest:
        name, _, after = piece.partition("}}")
        text += [parts[name], after]
    return "".join(text)


def as_json(data: Any) -> str:
    """JSON that can stand in a page: no "<" in it, so no text of a model ends the script it stands in."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def read(name: str) -> str:
    """A file of the built page."""
    return (files("chasles.view") / name).read_text(encoding="utf-8")
