"""Registers and checks passkeys (WebAuthn) with the library fido2.

The relying party is the host of settings.SITE_URL; the Host header of a request has no influence. Each challenge is
stored for five minutes and used once.
"""

import hashlib
import struct
from typing import Any
from urllib.parse import urlsplit

import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from django.conf import settings
from django.utils.translation import gettext as _
from fido2.server import Fido2Server
from fido2.utils import websafe_encode
from fido2.webauthn import (
    AttestedCredentialData,
    AuthenticationResponse,
    PublicKeyCredentialRpEntity,
    PublicKeyCredentialUserEntity,
    RegistrationResponse,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from accounts.errors import FieldErrors, PasskeyRefused
from accounts.factors.repository import FactorRepository
from accounts.factors.service import FactorService
from accounts.factors.values import PASSKEY_PREFIX, Factors, Passkey, passkey_id
from accounts.forms import CREDENTIAL_MAX_LENGTH, PASSKEY_NAME_MAX_LENGTH
from accounts.models import Account
from accounts.security.events import SecurityEvents
from socialsite.ids import AccountId, TimeSource
from socialsite.limits import ActionLimits, Caller
from socialsite.service import Service
from socialsite.site.hosts import origin_of
from socialsite.site.service import SiteService

CREATE, LOGIN, FACTOR, CONFIRM = "create", "login", "factor", "confirm"
"""Purposes of a challenge. A passkey that replaces the password has to verify its user by PIN or biometrics."""
MALFORMED = (
    ValueError, TypeError, KeyError, IndexError, AttributeError, AssertionError, RecursionError, NotImplementedError,
    struct.error, UnsupportedAlgorithm,
)  # fmt: skip
"""What fido2 raises if a client sends anything but the answer of an authenticator."""


class PasskeyService(Service):
    """Passkeys as second factor, as the whole log-in and for a step-up."""

    factors: FactorRepository
    factor_service: FactorService
    events: SecurityEvents
    limits: ActionLimits
    site: SiteService
    clock: TimeSource

    def _server(self) -> Fido2Server:
        """Return fido2's server for the host of SITE_URL. On localhost all ports are accepted, elsewhere one origin."""
        site_origin = origin_of(settings.SITE_URL)
        host = urlsplit(site_origin).hostname or ""
        rp = PublicKeyCredentialRpEntity(name=self.site.settings.title, id=host)
        if host == "localhost":
            return Fido2Server(rp, verify_origin=lambda origin: urlsplit(origin).hostname == host)
        return Fido2Server(rp, verify_origin=lambda origin: origin == site_origin)

    async def begin_registration(self, account: Account) -> dict[str, Any]:
        """Return the options of navigator.credentials.create() as JSON."""
        factors, required = await self.factors.find(AccountId(account.id)), ResidentKeyRequirement.REQUIRED
        display_name = account.display_name or account.handle  # some authenticators refuse an empty one
        user = PublicKeyCredentialUserEntity(
            id=str(account.id).encode(), name=account.handle, display_name=display_name
        )
        options, state = self._server().register_begin(
            user, _credentials(factors), required, UserVerificationRequirement.REQUIRED
        )
        await self.factors.add_challenge(_digest(state["challenge"], CREATE, account.id))
        return dict(options)

    async def register(self, account: Account, credential: str, name: str, caller: Caller) -> list[str]:
        """Add the passkey. Return recovery codes if the account had no factor. Raises FieldErrors, PasskeyRefused."""
        if not 0 < len(name.strip()) <= PASSKEY_NAME_MAX_LENGTH:
            raise FieldErrors({"name": _("A name has 1 to %d characters.") % PASSKEY_NAME_MAX_LENGTH})
        account_id, now_ms = AccountId(account.id), self.clock.now_ms()
        try:
            response = RegistrationResponse.from_dict(_parse(credential))
            state = await self._take(response.response.client_data.challenge, CREATE, account.id)
            data = self._server().register_complete(state, response)
            if data.credential_data is None or data.credential_data.public_key.ALGORITHM is None:
                raise PasskeyRefused
        except MALFORMED as error:
            raise PasskeyRefused from error
        id = passkey_id(data.credential_data.credential_id)
        passkey = Passkey(bytes(data.credential_data), name.strip(), data.counter, now_ms)
        return await self.factor_service.add(
            account_id, PASSKEY_PREFIX + id, msgspec.msgpack.encode(passkey), caller, "passkey_added", name=passkey.name
        )

    async def begin_check(self, purpose: str, account_id: AccountId | None, caller: Caller) -> dict[str, Any]:
        """Return the options of navigator.credentials.get() as JSON. Raises RateLimited."""
        await self.limits.enforce(caller, "token")
        credentials = _credentials(await self.factors.find(account_id)) if account_id else None
        options, state = self._server().authenticate_begin(credentials, _verification(purpose))
        await self.factors.add_challenge(_digest(state["challenge"], purpose, account_id or 0))
        return dict(options)

    async def check(self, purpose: str, account_id: AccountId | None, credential: str, caller: Caller) -> AccountId:
        """Return the account of the passkey, and store its use. Raises PasskeyRefused.

        If `account_id` is None, the answer of the passkey contains the account.
        """
        await self.limits.enforce(caller, "login")
        try:
            response = AuthenticationResponse.from_dict(_parse(credential))
            state = await self._take(response.response.client_data.challenge, purpose, account_id or 0)
            owner = account_id or AccountId(int(response.response.user_handle or b""))
            await self._verify(owner, state, response, caller)
        except (*MALFORMED, PasskeyRefused) as error:
            if account_id is not None:
                await self.events.record(account_id, "factor_refused", caller)
            raise PasskeyRefused from error
        return owner

    async def _verify(
        self, owner: AccountId, state: dict[str, Any], response: AuthenticationResponse, caller: Caller
    ) -> None:
        """Check the signature, and that the count of signatures grows: a copy of the passkey would repeat it.

        A passkey that moved to a synchronized store has no count any more, and is accepted with an event.
        """
        factors, id = await self.factors.find(owner), passkey_id(response.raw_id)
        passkey = factors.passkeys.get(id)
        if passkey is None:
            raise PasskeyRefused
        self._server().authenticate_complete(state, [AttestedCredentialData(passkey.credential)], response)
        count = response.response.authenticator_data.counter
        if 0 < count <= passkey.sign_count:
            await self.events.record(owner, "passkey_repeated", caller, name=passkey.name)
            raise PasskeyRefused
        used = Passkey(passkey.credential, passkey.name, count, passkey.created_ms, self.clock.now_ms())
        field = PASSKEY_PREFIX + id
        if await self.factors.replace(owner, field, factors.encoded[field], msgspec.msgpack.encode(used)) != 1:
            raise PasskeyRefused
        if passkey.sign_count and not count:
            await self.events.record(owner, "passkey_uncounted", caller, name=passkey.name)

    async def _take(self, challenge: bytes, purpose: str, account_id: int) -> dict[str, Any]:
        """Return the state that fido2 needs. Raises PasskeyRefused unless the challenge was made for this."""
        text = websafe_encode(challenge)
        if not await self.factors.take_challenge(_digest(text, purpose, account_id)):
            raise PasskeyRefused
        return {"challenge": text, "user_verification": _verification(purpose)}


def _parse(credential: str) -> dict[str, Any]:
    if len(credential) > CREDENTIAL_MAX_LENGTH:
        raise PasskeyRefused
    return msgspec.json.decode(credential, type=dict[str, Any])


def _verification(purpose: str) -> UserVerificationRequirement:
    return UserVerificationRequirement.PREFERRED if purpose == FACTOR else UserVerificationRequirement.REQUIRED


def _credentials(factors: Factors) -> list[AttestedCredentialData]:
    return [AttestedCredentialData(passkey.credential) for passkey in factors.passkeys.values()]


def _digest(challenge: str, purpose: str, account_id: int) -> str:
    """Return the digest under which a challenge is stored. The account is 0 if the answer of the passkey contains
    it."""
    return hashlib.sha256(f"{challenge} {purpose} {account_id}".encode()).hexdigest()
