"""Origins that may open a websocket."""

import pytest

from socialsite.web.websocket import is_own_origin


@pytest.mark.parametrize(
    ("origin", "host", "own"),
    [
        ("http://example.org", "example.org", True),
        ("HTTP://Example.org", "example.ORG", True),
        ("http://example.org:8000", "example.org:8000", True),
        ("http://[::1]:8000", "[::1]:8000", True),
        ("https://example.org", "example.org", False),
        ("http://example.org", "example.org:8000", False),
        ("http://example.org.evil.example", "example.org", False),
        ("http://evil.example", "example.org", False),
        ("http://evil.example", "evil.example", False),  # a foreign host name that resolves to this site
        ("null", "example.org", False),
        ("", "example.org", False),
        ("http://", "", False),
        ("http://example.org,http://example.org", "example.org", False),
    ],
)
def test_only_own_pages_may_connect_over_http(settings, origin, host, own) -> None:
    settings.HTTPS = False
    settings.ALLOWED_HOSTS = ["example.org", "[::1]"]
    settings.CSRF_TRUSTED_ORIGINS = []
    assert is_own_origin(origin, host) is own


@pytest.mark.parametrize(
    ("origin", "own"),
    [
        ("https://example.org", True),
        ("http://example.org", False),
        ("https://app.example.net", True),
        ("https://deep.sub.example.com", True),
        ("http://sub.example.com", False),
        ("https://example.com.evil.example", False),
    ],
)
def test_https_pages_and_trusted_origins_may_connect(settings, origin, own) -> None:
    settings.HTTPS = True
    settings.ALLOWED_HOSTS = ["example.org"]
    settings.CSRF_TRUSTED_ORIGINS = ["https://app.example.net", "https://*.example.com"]
    assert is_own_origin(origin, "example.org") is own
