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

_services_by_loop: "WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[AccountService, SessionService]]"
_services_by_loop = WeakKeyDictionary()


def bind_services(accounts: "AccountService", sessions: "SessionService") -> None:
    """Make these the services of the running loop."""
    _services_by_loop[asyncio.get_running_loop()] = (accounts, sessions)


def get_account_service() -> "AccountService":
    return _get_services()[0]


def get_session_service() -> "SessionService":
    return _get_services()[1]


def _get_services() -> "tuple[AccountService, SessionService]":
    try:
        return _services_by_loop[asyncio.get_running_loop()]
    except KeyError:
        raise RuntimeError("no services are bound to this event loop: open_services() does that") from None
