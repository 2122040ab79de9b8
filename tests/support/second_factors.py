"""Second factors in software: TOTP devices at the site's clock, and passkeys."""

import base64
import json
import os
from dataclasses import dataclass, field
from typing import Any

import pyotp
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from fido2 import cbor
from fido2.cose import ES256
from fido2.utils import sha256
from fido2.webauthn import Aaguid, AttestedCredentialData, AuthenticatorData

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


def encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


@dataclass
class SoftPasskey:
    """Makes the JSON of credentials for the options of the site. `count` grows with each signature."""

    origin: str = "http://localhost"
    rp_id: str = "localhost"
    is_verified: bool = True
    count: int = 0
    user_handle: str = ""
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    id: bytes = field(default_factory=lambda: os.urandom(16))

    def create(self, options: dict[str, Any]) -> str:
        public_key = options["publicKey"]
        self.user_handle = public_key["user"]["id"]
        attested = AttestedCredentialData.create(
            Aaguid.NONE,
            self.id,
            ES256.from_cryptography_key(self.key.public_key()),  # type: ignore[no-untyped-call]
        )
        attestation = cbor.encode({"fmt": "none", "attStmt": {}, "authData": self._data(attested)})
        response = {
            "clientDataJSON": encode(self._client_data("webauthn.create", public_key["challenge"])),
            "attestationObject": encode(attestation),
        }
        return self._credential(response)

    def get(self, options: dict[str, Any]) -> str:
        self.count += 1
        client_data = self._client_data("webauthn.get", options["publicKey"]["challenge"])
        data = self._data()
        signature = self.key.sign(data + sha256(client_data), ec.ECDSA(hashes.SHA256()))
        response = {
            "clientDataJSON": encode(client_data),
            "authenticatorData": encode(data),
            "signature": encode(signature),
            "userHandle": self.user_handle,
        }
        return self._credential(response)

    def _credential(self, response: dict[str, str]) -> str:
        return json.dumps({"id": encode(self.id), "rawId": encode(self.id), "type": "public-key", "response": response})

    def _client_data(self, kind: str, challenge: str) -> bytes:
        return json.dumps({"type": kind, "challenge": challenge, "origin": self.origin}).encode()

    def _data(self, attested: bytes = b"") -> bytes:
        flags = AuthenticatorData.FLAG.UP
        if self.is_verified:
            flags |= AuthenticatorData.FLAG.UV
        if attested:
            flags |= AuthenticatorData.FLAG.AT
        return bytes(AuthenticatorData.create(sha256(self.rp_id.encode()), flags, self.count, attested))
