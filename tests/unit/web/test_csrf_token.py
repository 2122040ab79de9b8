"""CSRF tokens of pages are valid for Django's own check."""

from collections import Counter

from django.middleware.csrf import (
    CSRF_ALLOWED_CHARS,
    CSRF_SECRET_LENGTH,
    CSRF_TOKEN_LENGTH,
    _does_token_match,
    _get_new_csrf_string,
    _unmask_cipher_token,
)

from socialsite.web.csrf import mask_secret


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
