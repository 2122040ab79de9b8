"""Checks that the viewer gave the password or a second factor less than ten minutes ago.

Views whose effect a thief of a session must not have call `require_step_up` first. A log-in counts as a confirmation.
"""

from typing import Final

from socialsite.errors import StepUpRequired
from socialsite.web.requests import SiteRequest, require_viewer

STEP_UP_TTL_MS: Final = 10 * 60_000
CONFIRMED_KEY: Final = "confirmed_ms"
"""The key in the data of the session with the time of the last confirmation."""


def require_step_up(request: SiteRequest) -> None:
    """Raise StepUpRequired if the last confirmation is older than STEP_UP_TTL_MS. Raises SignInRequired."""
    require_viewer(request)
    age_ms = request.services.clock.now_ms() - int(request.session.get(CONFIRMED_KEY, 0))
    if not 0 <= age_ms < STEP_UP_TTL_MS:
        raise StepUpRequired


def store_confirmation(request: SiteRequest) -> None:
    """Store in the session that the viewer gave the password or a factor now."""
    request.session[CONFIRMED_KEY] = request.services.clock.now_ms()
