"""Somebody at the page, in a real browser."""

from typing import Literal

from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.server.api.conftest import PATIENCE, RunningServer

ENGLISH = "The house is very old."
GERMAN = "Das Haus ist sehr alt."
"""What the bundled models make of each other's."""


class Visitor:
    """A page in a browser of its own, with its errors and the origins that it requested."""

    def __init__(
        self,
        browser: Browser,
        server: RunningServer,
        address: str = "",
        width: int = 1280,
        height: int = 800,
        scheme: Literal["light", "dark"] = "light",
        locale: str = "en-US",
    ) -> None:
        expect.set_options(timeout=1000 * PATIENCE)
        viewport = {"width": width, "height": height}
        self.context = browser.new_context(viewport=viewport, color_scheme=scheme, locale=locale)  # type: ignore[arg-type]
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(1000 * PATIENCE)
        self.complaints: list[str] = []
        self.origins: set[str] = set()
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.origins.add("/".join(request.url.split("/")[:3])))
        self.page.goto(server.url + address)

    def at(self, selector: str) -> Locator:
        return self.page.locator(selector)

    def type(self, text: str) -> None:
        self.page.fill("#input", text)

    def sees(self, translation: str) -> None:
        """The translation, which is there as a whole."""
        expect(self.at("#output")).to_have_text(translation)
        expect(self.at("#output")).to_have_attribute("aria-busy", "false")
        assert self.at("#output").text_content() == translation

    def translates(self, source: str, target: str) -> None:
        """The shown direction: a language, or the text about a detected one."""
        expect(self.at("#source option:checked")).to_have_text(source)
        expect(self.at("#target option:checked")).to_have_text(target)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def hold(self, path: str) -> list[Route]:
        """The next request for a path waits in the list; later ones pass."""
        held: list[Route] = []

        def handle(route: Route) -> None:
            if held:
                route.continue_()
            else:
                held.append(route)

        self.page.route(f"**{path}", handle)
        return held


def translated(server: RunningServer, text: str, source: str = "en", target: str = "de") -> str:
    result: str = server.translate(text, source=source, target=target).json()["translations"][0]["text"]
    return result
