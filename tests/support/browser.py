"""A real headless Chromium for pages that open from disk, and what a page may not do in it."""

import asyncio
import contextlib
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Request

ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)

# Two frames later the browser has painted what the action changed.
_PAINTED = """async (action) => {
  const start = performance.now();
  action();
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return performance.now() - start;
}"""


def chromium() -> str | None:
    """The system's Chromium, None where there is none."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@contextlib.contextmanager
def running_browser() -> Iterator["Browser"]:
    """Start Chromium; it ends with the block."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


@pytest.fixture(scope="session")
def session_browser() -> Iterator[tuple["Browser", asyncio.AbstractEventLoop]]:
    """One Chromium for all tests of the session, and the loop that speaks to it."""
    if chromium() is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium (scripts/setup does where it may)")
    with running_browser() as running:
        loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        yield running, loop
        asyncio._set_running_loop(loop)


@pytest.fixture
def browser(session_browser: tuple["Browser", asyncio.AbstractEventLoop]) -> Iterator["Browser"]:
    """The session's Chromium.

    Playwright's loop stays the thread's running one as long as the browser lives; outside the tests of pages it is set
    aside, or `asyncio.run` would refuse to run in all the others.
    """
    running, loop = session_browser
    asyncio._set_running_loop(loop)
    yield running
    asyncio._set_running_loop(None)


@contextlib.contextmanager
def opened(browser: "Browser", path: Path, state: str = "", **context: Any) -> Iterator["Page"]:
    """Open a page from disk; leaving the block fails if it had a word to say or asked for anything.

    The page's policy lets nothing evaluate a text, so `wait_for_function` cannot wait there; `expect` can.

    Args:
        browser: The browser.
        path: The page's file.
        state: What stands behind the `#` of its address.
        context: Options of a browser context, such as `color_scheme`.
    """
    with _watched(browser, f"{path.resolve().as_uri()}#{state}", None, context) as page:
        yield page


@contextlib.contextmanager
def opened_url(browser: "Browser", url: str, **context: Any) -> Iterator["Page"]:
    """Open a page of a server; leaving the block fails if it had a word to say or asked another one for anything."""
    with _watched(browser, url, url.partition("?")[0], context) as page:
        yield page


@contextlib.contextmanager
def _watched(browser: "Browser", url: str, own: str | None, context: dict[str, Any]) -> Iterator["Page"]:
    trouble: list[str] = []

    def heard(message: "ConsoleMessage") -> None:
        trouble.append(f"console {message.type}: {message.text}")

    def asked(request: "Request") -> None:
        is_own = own is not None and request.url.startswith(own)
        if not is_own and not request.url.startswith("data:") and not request.is_navigation_request():
            trouble.append(f"request: {request.url}")

    page = browser.new_context(**context).new_page()
    page.on("console", heard)
    page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
    page.on("dialog", lambda dialog: trouble.append(f"conversation: {dialog.message}"))
    page.on("request", asked)
    try:
        page.goto(url)
        yield page
        assert trouble == []
    finally:
        page.context.close()


def load_seconds(browser: "Browser", path: Path) -> float:
    """Seconds from asking for a page until its first rows stand there, painted."""
    page = browser.new_context().new_page()
    start = time.perf_counter()
    page.goto(path.resolve().as_uri())
    page.wait_for_selector("tbody tr")
    page.evaluate(f"({_PAINTED})(() => {{}})")
    taken = time.perf_counter() - start
    page.context.close()
    return taken


def painted_ms(page: "Page", action: str) -> float:
    """Milliseconds that an action in the page's JavaScript takes until its effect is painted."""
    return float(page.evaluate(f"({_PAINTED})(() => {{ {action} }})"))
