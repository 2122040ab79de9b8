"""The services of the running event loop, for the places that Django's contracts call without a request.

Those are the session engine (`SessionStore(key)`) and the backend (`aget_user(id)`). Everything else takes
its services from `request.services`. The composition root binds them, once a loop.
"""

import asyncio
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from accounts.accounts.service import AccountService
    from accounts.sessions.service import SessionService

_bound: "WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[AccountService, SessionService]]"
_bound = WeakKeyDictionary()


def bind(accounts: "AccountService", sessions: "SessionService") -> None:
    """Make these the services of the running loop."""
    _bound[asyncio.get_running_loop()] = (accounts, sessions)


def accounts() -> "AccountService":
    return _services()[0]


def sessions() -> "SessionService":
    return _services()[1]


def _services() -> "tuple[AccountService, SessionService]":
    try:
        return _bound[asyncio.get_running_loop()]
    except KeyError:
        raise RuntimeError("no services are bound to this event loop: open_services() does that") from None
