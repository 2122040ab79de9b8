"""All spellings of a blocked host are recognized, and no other host."""

import pytest

from socialsite.site.hosts import compile_hosts, is_blocked_host

BLOCKED = compile_hosts(
    (
        "Bad.example", "*.wild.example", "https://müller.example/path", "xn--bcher-kva.example.", "straße.example",
        "xn--fa-hia.example", "💩.example", "mail@spam.example",
    )
)  # fmt: skip


@pytest.mark.parametrize(
    "host",
    [
        "bad.example", "BAD.EXAMPLE", "bad.example.", "bad.example:8080", "a.b.bad.example", "wild.example",
        "x.wild.example", "müller.example", "MÜLLER.example", "xn--mller-kva.example", "bücher.example",
        "www.bücher。example", "b%61d.example", "xn--strae-oqa.example", "STRAßE.example", "faß.example",
        "xn--ls8h.example", "ｂａｄ.example", "b\u00adad.example", "spam.example",
    ],
)  # fmt: skip
def test_a_spelling_of_a_blocked_host_is_blocked(host: str) -> None:
    assert is_blocked_host(host, BLOCKED)


@pytest.mark.parametrize(
    "host",
    ["notbad.example", "bad.example.org", "example", "", "[::1]", "muller.example", "strasse.example", "\U000e0001"],
)
def test_another_host_is_not_blocked(host: str) -> None:
    assert not is_blocked_host(host, BLOCKED)
    assert not is_blocked_host(host, compile_hosts(()))
