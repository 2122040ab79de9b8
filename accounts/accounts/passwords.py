"""Hashes, checks and validates passwords in two threads beside the event loop.

One Argon2 hash takes about 19 MB. The number of waiting checks is limited, because a request whose deadline passed
gets no response. Checks for known browsers (security/browsers.py) run first, and twice as many of them may wait.

The limit is a pool of threads, not a semaphore, because a thread continues after its request was cancelled. A password
for an unknown account is checked against a dummy hash, so that it takes as long as a wrong password.
"""

import asyncio
import secrets
import time
import unicodedata
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from itertools import count
from queue import PriorityQueue
from typing import TypeVar

import regex
from django.contrib.auth.hashers import (
    UNUSABLE_PASSWORD_PREFIX,
    Argon2PasswordHasher,
    get_hasher,
    is_password_usable,
    make_password,
    verify_password,
)
from django.contrib.auth.password_validation import validate_password

from accounts.errors import PasswordsBusy
from accounts.models import Account

MAX_CONCURRENT_HASHES = 2
WAITING_CAP = 32
"""The maximum number of checks that wait for a thread (about 1 s of work). For known browsers it is twice as high."""
WAIT_MAX_S = 2.5
"""On a slow or loaded machine fewer checks wait: as many as the threads have lately performed in this time."""
UNUSABLE_SUFFIX_BYTES = 20  # random, as Django does, so that tokens made of the hash cannot be guessed
PASSWORD_MAX_LENGTH = 1024  # code points; a longer password would only take more time to hash

_OTHER_SPACE = regex.compile(r"(?! )\p{Zs}")

T = TypeVar("T")
_hashing_pool = ThreadPoolExecutor(max_workers=MAX_CONCURRENT_HASHES, thread_name_prefix="passwords")
_waiting: PriorityQueue[tuple[bool, int, Callable[[], None]]] = PriorityQueue()
_sequence = count()
_average_s = [0.05]
"""The time of a check, averaged over about the last eight."""


class SiteArgon2Hasher(Argon2PasswordHasher):
    """Argon2id with 19 MiB, two passes and one lane (OWASP Password Storage).

    A log-in replaces a hash that was made with other parameters.
    """

    time_cost = 2
    memory_cost = 19 * 1024
    parallelism = 1


def prepare_password(raw: str) -> str:
    """Return the one form of a password that is hashed, since keyboards compose letters differently (RFC 8265, 4.2).

    The rules of OpaqueString apply, but no password is refused that was accepted before.
    """
    return raw if raw.isascii() else unicodedata.normalize("NFC", _OTHER_SPACE.sub(" ", raw))


async def hash_password(raw: str | None, *, is_known: bool = True) -> str:
    """Return the hash to store; for None, a hash that no password matches. Raises PasswordsBusy."""
    if raw is None:
        # Django's make_password(None) reads the system's random source forty times, too slow for imports.
        return UNUSABLE_PASSWORD_PREFIX + secrets.token_hex(UNUSABLE_SUFFIX_BYTES)
    return await _run_in_pool(lambda: make_password(prepare_password(raw)), is_known=is_known)


async def check_password(raw: str, encoded: str | None, *, is_known: bool = True) -> tuple[bool, bool]:
    """Return whether the password matches, and whether the hash is outdated. Raises PasswordsBusy.

    None or an unusable hash never matches, and the check takes as long as any other.
    """
    return await _run_in_pool(lambda: _check_password_sync(raw, encoded), is_known=is_known)


async def validate_new_password(raw: str, account: Account, *, is_known: bool = True) -> None:
    """Check the rules for new passwords. Raises ValidationError, PasswordsBusy."""
    await _run_in_pool(lambda: validate_password(prepare_password(raw), account), is_known=is_known)


def _check_password_sync(raw: str, encoded: str | None) -> tuple[bool, bool]:
    dummy = _dummy_hash(get_hasher().algorithm)  # computed on the first check of the process
    is_usable = encoded is not None and is_password_usable(encoded)
    stored, prepared = (encoded if encoded and is_usable else dummy), prepare_password(raw)
    is_right, is_outdated = verify_password(prepared, stored)
    if not is_right and prepared != raw:  # earlier releases hashed passwords as typed
        is_right = is_outdated = verify_password(raw, stored)[0]
    return is_right and is_usable, is_outdated and is_usable


@cache
def _dummy_hash(algorithm: str) -> str:
    return make_password(secrets.token_urlsafe(32), hasher=algorithm)


async def _run_in_pool(work: Callable[[], T], *, is_known: bool) -> T:
    """Run `work` in a thread.

    Work for known browsers runs first. Work that is cancelled before its start is not run.
    """
    cap = min(WAITING_CAP, max(MAX_CONCURRENT_HASHES, round(MAX_CONCURRENT_HASHES * WAIT_MAX_S / _average_s[0])))
    if _waiting.qsize() >= cap * (1 + is_known):
        raise PasswordsBusy
    future: Future[T] = Future()

    def run() -> None:
        if not future.set_running_or_notify_cancel():
            return
        started = time.monotonic()
        try:
            future.set_result(work())
        except Exception as error:  # noqa: BLE001  raised again by the waiting request
            future.set_exception(error)
        _average_s[0] += (time.monotonic() - started - _average_s[0]) / 8

    _waiting.put((not is_known, next(_sequence), run))
    _hashing_pool.submit(lambda: _waiting.get_nowait()[2]())
    return await asyncio.wrap_future(future)
