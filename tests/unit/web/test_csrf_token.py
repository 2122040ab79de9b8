"""The CSRF token, and the origin of a request."""

from collections import Counter

import pytest
from django.middleware.csrf import (
    CSRF_ALLOWED_CHARS,
    CSRF_SECRET_LENGTH,
    CSRF_TOKEN_LENGTH,
    _does_token_match,
    _get_new_csrf_string,
    _unmask_cipher_token,
)

from socialsite.web.csrf import mask_secret
from socialsite.web.websocket import is_own_origin


def test_django_unmasks_every_token_to_the_secret():
    for _ in range(300):
        secret = _get_new_csrf_string()
        token = mask_secret(secret)
        assert len(token) == CSRF_TOKEN_LENGTH
        assert _unmask_cipher_token(token) == secret
        assert _does_token_match(token, secret)


def test_masks_do_not_repeat_and_their_characters_are_uniformly_distributed():
    secret = _get_new_csrf_string()
    masks = [mask_secret(secret)[:CSRF_SECRET_LENGTH] for _ in range(2_000)]
    assert len(set(masks)) == len(masks)
    counts = Counter("".join(masks))
    assert set(counts) == set(CSRF_ALLOWED_CHARS)
    even = len(masks) * CSRF_SECRET_LENGTH / len(CSRF_ALLOWED_CHARS)  # mean 1,032, deviation 32
    assert all(abs(count - even) < 7 * even**0.5 for count in counts.values())


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
