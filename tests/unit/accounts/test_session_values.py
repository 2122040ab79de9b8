"""Session tokens, device names, session limits and keys, without a server."""

import hashlib

import pytest

from accounts import keys
from accounts.models import Account
from accounts.sessions import values
from socialsite.clock import DAY_MS
from socialsite.store.key import KEY_PATTERN

NOW_MS = 1_800_000_000_000


def test_a_cookie_value_is_parsed_to_its_token():
    token = values.SessionToken.generate(42)
    assert token.cookie_value.startswith("42.")
    assert len(token.secret) == 43
    assert values.SessionToken.parse(token.cookie_value) == token


def test_two_tokens_have_different_secrets():
    assert values.SessionToken.generate(42).secret != values.SessionToken.generate(42).secret


@pytest.mark.parametrize(
    "cookie",
    [
        None,
        "",
        "None",
        "42",
        "42." + "a" * 42,
        "42." + "a" * 44,
        "0." + "a" * 43,
        "042." + "a" * 43,
        "-1." + "a" * 43,
        "\u0664\u0662." + "a" * 43,
        "42." + "a" * 42 + "}",
        "42." + "a" * 43 + "\n",
        "4" * 17 + "." + "a" * 43,
    ],
)
def test_an_invalid_cookie_is_not_a_token(cookie):
    assert values.SessionToken.parse(cookie) is None


def test_a_token_is_stored_as_its_digest_and_is_not_in_its_repr():
    token = values.SessionToken.generate(42)
    assert token.session_id == hashlib.sha256(token.secret.encode()).hexdigest()
    assert token.secret not in repr(token)


def test_no_repr_contains_a_secret():
    account = Account(id=1, handle="alice", password="argon2$secret")
    stored = values.StoredSession(values.SESSION_SCHEMA_VERSION, NOW_MS, "Firefox", {"_auth_user_hash": "secret"})
    assert "secret" not in f"{account!r} {account} {account.author!r} {stored!r}"


def test_a_session_expires_when_it_is_idle_or_old():
    limits = values.SessionLimits()
    assert not limits.is_expired(NOW_MS, NOW_MS, NOW_MS + 14 * DAY_MS - 1)
    assert limits.is_expired(NOW_MS, NOW_MS, NOW_MS + 14 * DAY_MS)
    assert not limits.is_expired(NOW_MS, NOW_MS + 89 * DAY_MS, NOW_MS + 90 * DAY_MS - 1)
    assert limits.is_expired(NOW_MS, NOW_MS + 89 * DAY_MS, NOW_MS + 90 * DAY_MS)


def test_the_ttl_of_a_session_ends_with_its_lifetime():
    limits = values.SessionLimits()
    assert limits.ttl_ms(NOW_MS, NOW_MS) == 14 * DAY_MS
    assert limits.ttl_ms(NOW_MS, NOW_MS + 85 * DAY_MS) == 5 * DAY_MS
    assert limits.ttl_ms(NOW_MS, NOW_MS + 100 * DAY_MS) == 1


def test_keys_contain_no_user_text_and_sessions_share_a_slot_with_their_index():
    session = keys.session(42, values.SessionToken.generate(42).session_id)
    for key in (keys.account(42), keys.handle("a}:{b\r\n*"), keys.account_ids(), session, keys.session_index(42)):
        assert KEY_PATTERN.fullmatch(key)
    assert session.tag == keys.session_index(42).tag == "42"


@pytest.mark.parametrize(
    ("user_agent", "device"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Linux"),
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0", "Edge on Windows"),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605 Version/18 Safari/604",
            "Safari on iPhone",
        ),
        ("Mozilla/5.0 (Linux; Android 15) AppleWebKit/537 Chrome/140 Mobile Safari/537", "Chrome on Android"),
        ("curl/8.5.0", "curl/8.5.0"),
        ("x" * 500, "x" * values.DEVICE_MAX_LENGTH),
        ("\x1b[31mred\r\nline", "[31mredline"),
        ("", ""),
    ],
)
def test_a_user_agent_becomes_a_short_device_name(user_agent, device):
    assert values.describe_device(user_agent) == device
