"""Second factors for tests: accounts with TOTP, and codes at the time of the site's clock."""

from dataclasses import dataclass

import pyotp

from socialsite.clock import FixedClock
from tests.support.browser import HttpBrowser

STEP_MS = 30_000


@dataclass(frozen=True)
class TotpDevice:
    """The app of a person: its secret, and the recovery codes that the site has shown."""

    secret: str
    recovery_codes: list[str]
    clock: FixedClock

    def code(self, steps: int = 0) -> str:
        """Return the code of the present step, or of the step so many later."""
        return pyotp.TOTP(self.secret).generate_otp(self.clock.now_ms() // STEP_MS + steps)

    def next_code(self) -> str:
        """Return a code that was never used, after the clock has moved to its step."""
        self.clock.advance(STEP_MS)
        return self.code()


async def set_up_totp(browser: HttpBrowser, clock: FixedClock) -> TotpDevice:
    setup = (await browser.get_json("/accounts/factors/totp/")).json()
    device = TotpDevice(setup["secret"].replace(" ", ""), [], clock)
    answer = await browser.post_json("/accounts/factors/totp/", setup=setup["setup"], code=device.code())
    assert answer.status_code == 200, answer.text
    device.recovery_codes.extend(answer.json()["recovery_codes"])
    return device
