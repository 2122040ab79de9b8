"""A browser's User-Agent in a few words, for the page of sessions. A hint for people, no check."""

import re
from collections.abc import Sequence

DEVICE_MAX_LENGTH = 60  # code points

_BROWSERS: Sequence[tuple[str, str]] = (  # first match counts: most browsers also name the ones below them
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chromium/", "Chromium"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS: Sequence[tuple[str, str]] = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Macintosh", "Mac"),
    ("Linux", "Linux"),
)


def describe_device(user_agent: str) -> str:
    """ "Firefox on Linux"; for other programs the name they give themselves, shortened."""
    browser, system = _first_match(_BROWSERS, user_agent), _first_match(_SYSTEMS, user_agent)
    if browser and system:
        return f"{browser} on {system}"
    named = re.sub(r"[^\x20-\x7e]", "", user_agent).split(" ")[0]
    return (browser or system or named)[:DEVICE_MAX_LENGTH]


def _first_match(names: Sequence[tuple[str, str]], user_agent: str) -> str:
    return next((name for mark, name in names if mark in user_agent), "")
