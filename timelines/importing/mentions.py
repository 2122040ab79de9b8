"""Adds the host to mentions in posts of another site, so that they do not mention accounts of this site."""

from urllib.parse import urlsplit

from timelines.text.token_scanner import scan


def host_of(url: str) -> str:
    """Return the host of a URL, or "" if it has none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def add_host(text: str, host: str) -> str:
    """Return the text with `host` after each mention that has no host."""
    if "@" not in text and "＠" not in text:
        return text
    return "".join(
        f"{piece.raw}{host}" if piece.kind == "mention" and "@" not in piece.raw[1:] else piece.raw
        for piece in scan(text)
    )
