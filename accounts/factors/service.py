"""Sets up, checks and removes second factors.

A code of six digits is easily guessed in many attempts, so wrong ones are counted for a day: for the browser if the
account was signed in with it before, otherwise for the account. An attacker who knows the password can use up only the
latter. A recovery code or a passkey can always be used.
"""

from typing import Final, NoReturn

import msgspec
import structlog
from django.utils.translation import gettext as _

from accounts.errors import FactorNotFound, FieldErrors
from accounts.factors.repository import FactorRepository
from accounts.factors.values import (
    CODES_FIELD,
    PASSKEY_PREFIX,
    RECOVERY_CODES,
    TOTP_FIELD,
    Factors,
    Totp,
    digest_code,
    generate_recovery_code,
    normalize_code,
)
from accounts.mail.service import MailService
from accounts.security.browsers import BrowserRegistry, KnownBrowser
from accounts.security.events import SecurityEvents
from socialsite.ids import AccountId, TimeSource
from socialsite.limits import ActionLimits, Caller, address_factors
from socialsite.recipes.rate_limit import Identifier
from socialsite.service import Service

WRONG_CODES_PER_DAY: Final = 20
encode = msgspec.msgpack.encode

log = structlog.get_logger("accounts.security")


class FactorService(Service):
    factors: FactorRepository
    browsers: BrowserRegistry
    limits: ActionLimits
    events: SecurityEvents
    mail: MailService
    clock: TimeSource

    async def find(self, account_id: AccountId) -> Factors:
        return await self.factors.find(account_id)

    # Set-up

    async def add_totp(self, account_id: AccountId, secret: str, code: str, caller: Caller) -> list[str]:
        """Add TOTP after its first code. Return recovery codes if the account had no factor. Raises FieldErrors."""
        await self.limits.enforce(caller, "login")
        now_ms = self.clock.now_ms()
        totp = Totp(secret, now_ms)
        step = totp.find_step(normalize_code(code), now_ms)
        if step is None:
            raise FieldErrors({"code": _("This code is not right. Compare the clock of your device.")})
        return await self.add(account_id, TOTP_FIELD, totp.sealed(step), caller, "totp_added")

    async def add(
        self, account_id: AccountId, field: str, value: bytes, caller: Caller, kind: str, **details: str
    ) -> list[str]:
        """Add a factor. Return recovery codes if the account had no factor. Raises FieldErrors."""
        before = await self.factors.find(account_id)
        if await self.factors.replace(account_id, field, None, value) != 1:
            raise FieldErrors({"": _("This is set up already, or there is no room for another one.")})
        log.info("factor_added", account=account_id, kind=kind)
        await self._announce(account_id, kind, caller, **details)
        return [] if before.is_set else await self.renew_codes(account_id, None)

    async def renew_codes(self, account_id: AccountId, caller: Caller | None) -> list[str]:
        """Replace the recovery codes. The new ones are returned and cannot be shown again."""
        codes = [generate_recovery_code() for _ in range(RECOVERY_CODES)]
        encoded, is_stored = encode(tuple(map(digest_code, codes))), 0
        while is_stored != 1:
            old = (await self.factors.find(account_id)).encoded.get(CODES_FIELD)
            is_stored = await self.factors.replace(account_id, CODES_FIELD, old, encoded)
        if caller is not None:
            await self.events.record(account_id, "codes_renewed", caller)
        return codes

    async def remove(self, account_id: AccountId, factor: str, caller: Caller) -> None:
        """Remove "totp" or the passkey with this id. The last one also removes the codes. Raises FactorNotFound."""
        field = TOTP_FIELD if factor == TOTP_FIELD else f"{PASSKEY_PREFIX}{factor}"
        before = await self.factors.find(account_id)
        passkey = before.passkeys.get(factor)
        encoded = before.encoded.get(field)
        if encoded is None or await self.factors.replace(account_id, field, encoded, None) != 1:
            raise FactorNotFound
        after = await self.factors.find(account_id)
        if not after.is_set:
            await self.factors.replace(account_id, CODES_FIELD, after.encoded.get(CODES_FIELD), None)
        log.info("factor_removed", account=account_id)
        await self._announce(account_id, "factor_removed", caller, name=passkey.name if passkey else "")

    async def disable(self, account_id: AccountId) -> None:
        """Remove all factors of a locked-out account as an operator. The mail to the owner is queued before the
        change."""
        log.warning("factors_disabled", account=account_id)
        await self._announce(account_id, "factors_disabled", None)
        await self.factors.delete_all(account_id)

    async def _announce(self, account_id: AccountId, kind: str, caller: Caller | None, **details: str) -> None:
        await self.events.record(account_id, kind, caller, **details)
        await self.mail.notify_if_available(account_id, "factor_changed")

    # Check

    async def check_code(self, account_id: AccountId, text: str, caller: Caller, browser: KnownBrowser | None) -> str:
        """Use up a TOTP code or a recovery code. Return its kind. Raises FieldErrors, RateLimited."""
        is_known = await self.browsers.is_known(account_id, browser)
        by_browser = Identifier.browser(browser.secret) if is_known and browser is not None else None
        await self.limits.enforce_for({by_browser: 1} if by_browser else address_factors(caller.address), "login")
        code = normalize_code(text)
        if not (code.isascii() and code.isdigit()):
            return await self._use_recovery_code(account_id, code, caller)
        budget = {by_browser or Identifier.account(account_id): WRONG_CODES_PER_DAY}
        await self.limits.enforce_daily_for(budget, "factor")
        stored = (factors := await self.factors.find(account_id)).totp
        totp = stored.unsealed() if stored else None
        step = totp.find_step(code, self.clock.now_ms()) if totp else None
        if totp is None or step is None:
            await self._refuse_code(account_id, caller)
        if await self.factors.replace(account_id, TOTP_FIELD, factors.encoded[TOTP_FIELD], totp.sealed(step)) != 1:
            await self._refuse_code(account_id, caller)  # a concurrent log-in used the code
        await self.limits.refund_daily_for(budget, "factor")
        return "totp"

    async def _use_recovery_code(self, account_id: AccountId, code: str, caller: Caller) -> str:
        digest, is_used = digest_code(code), 0
        while is_used != 1:
            factors = await self.factors.find(account_id)
            if digest not in factors.code_digests:
                await self._refuse_code(account_id, caller)
            left = encode(tuple(each for each in factors.code_digests if each != digest))
            is_used = await self.factors.replace(account_id, CODES_FIELD, factors.encoded[CODES_FIELD], left)
        await self.events.record(account_id, "code_used", caller, left=str(len(factors.code_digests) - 1))
        return "recovery code"

    async def _refuse_code(self, account_id: AccountId, caller: Caller) -> NoReturn:
        log.info("factor_refused", account=account_id)
        await self.events.record(account_id, "factor_refused", caller)
        raise FieldErrors({"code": _("This code is not right, or it was used already.")})
