"""Drive a headless Chromium over the DevTools protocol, on a pipe: for tests of the 3D page and for its pictures."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

FLAGS = (
    *("--headless", "--no-sandbox", "--remote-debugging-pipe", "--no-first-run", "--disable-sync", "--mute-audio"),
    *("--disable-background-networking", "--disable-component-update", "--disable-default-apps", "--hide-scrollbars"),
    *("--disable-extensions", "--disable-dev-shm-usage", "--force-color-profile=srgb"),
    *("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"),
)


def executable() -> str | None:
    """Chromium on this machine."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """A browser with one page. What happens in it is collected: requests, messages of the console, exceptions."""

    def __init__(self, width: int = 1000, height: int = 700, scale: float = 1.0, address: str = "about:blank"):
        found = executable()
        if found is None:
            raise FileNotFoundError("chromium is not installed (Debian: apt-get install chromium)")
        self.folder = tempfile.TemporaryDirectory(prefix="chasles-browser-", ignore_cleanup_errors=True)
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()

        def on_three_and_four() -> None:
            """Where the browser expects the pipe."""
            high = [os.dup2(theirs_in, 20), os.dup2(theirs_out, 21)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            [found, *FLAGS, f"--user-data-dir={self.folder.name}", f"--window-size={width},{height}", address],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=on_three_and_four,
            close_fds=False,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._buffer = b""
        self._number = 0
        self.session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self._first_page()
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.resize(width, height, scale)

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self.process.poll() is None:
            self.session = None
            try:
                self.call("Browser.close", timeout=5)
                self.process.wait(5)
            except (OSError, TimeoutError, subprocess.TimeoutExpired, ConnectionError):
                self.process.kill()
                self.process.wait()
        for descriptor in (self._in, self._out):
            os.close(descriptor)
        self.folder.cleanup()

    # ------------------------------------------------------------ protocol

    def _first_page(self) -> str:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            for target in self.call("Target.getTargets")["targetInfos"]:
                if target["type"] == "page":
                    return target["targetId"]
            time.sleep(0.005)
        raise TimeoutError("the browser opens no page")

    def call(self, method: str, timeout: float = 60.0, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol and wait for its result."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + timeout
        while True:
            answer = self._next(until)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer.get("result", {})

    def _next(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser does not answer")
            data = os.read(self._in, 1 << 20)
            if not data:
                raise ConnectionError("the browser has ended")
            self._buffer += data
        text, _, self._buffer = self._buffer.partition(b"\0")
        message = json.loads(text)
        if "method" in message:
            self.events.append(message)
        return message

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page; promises are awaited."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            details = found["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return found["result"].get("value")

    # ------------------------------------------------------------ the page

    def resize(self, width: int, height: int, scale: float = 1.0, mobile: bool = False) -> None:
        options: Any = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": mobile}
        self.call("Emulation.setDeviceMetricsOverride", **options)

    def scheme(self, name: str) -> None:
        """Prefer "light" or "dark"."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def open(self, address: str | Path, query: str = "", wait: str = "window.chasles?.ready") -> None:
        """Go to an address or file, and wait until an expression is true there."""
        self.events.clear()
        url = address.resolve().as_uri() if isinstance(address, Path) else address
        self.call("Page.navigate", url=url + query)
        self.until(wait)

    def until(self, expression: str, timeout: float = 60.0) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + timeout
        while True:
            try:
                if self.evaluate(f"Boolean({expression})"):
                    return
            except RuntimeError:
                pass  # between two pages
            if time.monotonic() > end:
                raise TimeoutError(f"not true within {timeout:g} s: {expression}; console: {self.complaints()}")
            time.sleep(0.02)

    def press(self, key: str, modifiers: int = 0) -> None:
        """Press a key."""
        text = {"text": key} if len(key) == 1 else {}
        code = {"Escape": 27, "Tab": 9, "Enter": 13}.get(key, 0)
        for kind in ("keyDown", "keyUp"):
            options: Any = {
                "type": kind,
                "key": key,
                "modifiers": modifiers,
                "windowsVirtualKeyCode": code,
                **(text if kind == "keyDown" else {}),
            }
            self.call("Input.dispatchKeyEvent", **options)

    def screenshot(self, file: Path | None = None) -> bytes:
        """The page as PNG."""
        data = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        if file is not None:
            file.write_bytes(data)
        return data

    def complaints(self) -> list[str]:
        """Errors and warnings of the console, exceptions and what the security policy blocked."""
        found = []
        for event in self.events:
            parameters = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                details = parameters["exceptionDetails"]
                found.append(details.get("exception", {}).get("description", details["text"]))
            elif event["method"] == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
                found.append(" ".join(str(item.get("value", item.get("description"))) for item in parameters["args"]))
            elif event["method"] == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
                found.append(parameters["entry"]["text"])
        return [text for text in found if "GPU stall due to ReadPixels" not in text]  # of screenshots

    def requests(self) -> list[str]:
        """Addresses that the page asked for."""
        return [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]
