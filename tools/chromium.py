"""A headless Chromium with one page, driven by Playwright: for tests of the 3D page and for its pictures.

The browser is that of the machine (Debian: apt-get install chromium); Playwright brings none.
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import ConsoleMessage, Error, sync_playwright

FLAGS = ("--hide-scrollbars", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
LONGEST = 60.0  # seconds to wait for anything
# what is no fault of the page: of screenshots, and of the page in a frame of another, which may not take the focus
HARMLESS = ("GPU stall due to ReadPixels", "Blocked autofocusing")


def executable() -> str | None:
    """Chromium on this machine."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """A browser with one page. What happens in it is collected: requests, messages of the console, exceptions."""

    def __init__(self, width: int = 1000, height: int = 700, scale: float = 1.0, mobile: bool = False):
        found = executable()
        if found is None:
            raise FileNotFoundError("chromium is not installed (Debian: apt-get install chromium)")
        self._said: list[str] = []
        self._asked: list[str] = []
        self._playwright = sync_playwright().start()
        self._browser = self._playwright.chromium.launch(executable_path=found, args=FLAGS, chromium_sandbox=False)
        self.page = self._browser.new_page(
            viewport={"width": width, "height": height}, device_scale_factor=scale, is_mobile=mobile
        )
        self.page.set_default_timeout(1e3 * LONGEST)
        self.page.on("console", self._note)
        self.page.on("pageerror", lambda error: self._said.append(str(error)))
        self.page.on("request", lambda request: self._asked.append(request.url))

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self._browser.close()
        self._playwright.stop()

    def _note(self, message: ConsoleMessage) -> None:
        """Keep errors and warnings of the console, among them what the security policy blocked."""
        harmless = any(text in message.text for text in HARMLESS)
        if message.type in ("error", "warning", "assert") and not harmless:
            self._said.append(message.text)

    def open(self, address: str | Path, query: str = "", wait: str = "window.chasles?.ready") -> None:
        """Go to an address or file, and wait until an expression is true there."""
        self._said.clear()
        self._asked.clear()
        url = address.resolve().as_uri() if isinstance(address, Path) else address
        self.page.goto(url + query, wait_until="commit")
        self.until(wait)

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page; promises are awaited."""
        return self.page.evaluate(expression)

    def until(self, expression: str, timeout: float = LONGEST) -> None:
        """Wait until an expression is true. Playwright's own waiting is forbidden by the page's security policy."""
        end = time.monotonic() + timeout
        while not self._true(expression):
            if time.monotonic() > end:
                raise TimeoutError(f"not true within {timeout:g} s: {expression}; console: {self.complaints()}")
            self.page.wait_for_timeout(20)

    def _true(self, expression: str) -> bool:
        try:
            return self.page.evaluate(f"Boolean({expression})")
        except Error:  # between two pages
            return False

    def resize(self, width: int, height: int) -> None:
        """Give the page another size."""
        self.page.set_viewport_size({"width": width, "height": height})

    def scheme(self, name: Any) -> None:
        """Prefer "light" or "dark"."""
        self.page.emulate_media(color_scheme=name)

    def press(self, key: str) -> None:
        """Press a key."""
        self.page.keyboard.press(key)

    def screenshot(self) -> bytes:
        """The page as PNG."""
        return self.page.screenshot()

    def complaints(self) -> list[str]:
        """Errors and warnings of the console, exceptions and what the security policy blocked."""
        self.page.evaluate("0")  # what was said before this is told before its answer
        return list(self._said)

    def requests(self) -> list[str]:
        """Addresses that the page asked for."""
        return list(self._asked)
