"""The common start of every page scenario: two accounts that follow each other, and ways to open pages."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.support.chromium import BrowserPage
from tests.support.sites import QuickstartSite
from tests.support.visitor import HttpVisitor, JsonObject

LONG_WORD = "Donaudampfschifffahrtsgesellschaftskapitänsmützenfabrikantenversammlung" * 3
TEXTS = (
    "plain words, and a link to https://example.org/a/path?with=a&query=of#some-length",
    LONG_WORD,
    "two\n\nlines, and\nmore",
    "שלום, this goes both ways",
    "\N{GRINNING FACE}" * 60,
    "https://example.org/" + "x" * 300,
)
SUBMIT = "(path) => { const form = document.getElementById('post-actions'); form.action = path; form.submit(); }"


@dataclass
class PageScenario:
    """A reader, signed in as `own`, who follows `friend`; both have published posts."""

    site: QuickstartSite
    reader: BrowserPage
    own: HttpVisitor
    friend: HttpVisitor
    post: JsonObject


def goes(path: str) -> Callable[[PageScenario], None]:
    return lambda scene: scene.reader.go_to(path.format(own=scene.own.handle, friend=scene.friend.handle))


def fills(path: str, **fields: str) -> Callable[[PageScenario], None]:
    """Submit the first form of a page with these values, without the browser's validation."""

    def act(scene: PageScenario) -> None:
        page = scene.reader.page
        scene.reader.go_to(path)
        for name, value in fields.items():
            page.locator(f"main [name={name}]").first.fill(value)
        with page.expect_navigation():
            page.locator("main form").first.evaluate("(form) => form.submit()")

    return act


def submits(path: str) -> Callable[[PageScenario], None]:
    def act(scene: PageScenario) -> None:
        scene.reader.go_to("/public/")
        with scene.reader.page.expect_navigation():
            scene.reader.page.evaluate(SUBMIT, path.format(own=scene.own.handle, friend=scene.friend.handle))

    return act


def goes_as_staff(path: str) -> Callable[[PageScenario], None]:
    """Open a page of /ops/ as staff, with a dead letter, an audit log and pending jobs."""

    def act(scene: PageScenario) -> None:
        own, friend = (scene.own.get(f"/@{each.handle}/")["account"]["id"] for each in (scene.own, scene.friend))
        with scene.site.redis() as client:
            client.hset(f"accounts:{{{own}}}:account", "staff", "1")
            client.xadd("jobs:{outbox}:dead", {"payload": b"x", "reason": LONG_WORD, "tries": 5, "job": "1-1"})
        scene.own.post(f"/ops/accounts/{friend}/sessions/end/")
        scene.reader.go_to(path.format(friend=friend, own=own))
        for summary in scene.reader.page.locator(".ops details > summary").all():
            summary.click()

    return act
