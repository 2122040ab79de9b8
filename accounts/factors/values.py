"""Second factors of an account: one-time passwords (TOTP, RFC 6238), passkeys (WebAuthn) and recovery codes."""

import base64
import hashlib
import secrets
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from hmac import compare_digest
from typing import Final, Self

import msgspec
import pyotp

from socialsite.characters import normalize
from socialsite.encryption import seal, unseal

TOTP_STEP_S: Final = 30
TOTP_DRIFT_STEPS: Final = 1
"""Codes of this number of steps before and after the present step are accepted, because clocks differ."""
PASSKEYS_CAP: Final = 10
RECOVERY_CODES: Final = 10
RECOVERY_CODE_BYTES: Final = 10  # 16 characters of Base32
TOTP_FIELD, CODES_FIELD, PASSKEY_PREFIX = "totp", "codes", "passkey:"


class Totp(msgspec.Struct, frozen=True, array_like=True):
    """A Base32 secret, which is stored sealed. Codes of steps up to `last_step` are used up."""

    secret: str
    created_ms: int
    last_step: int = 0

    def __repr__(self) -> str:
        return f"<Totp since {self.created_ms}>"

    def sealed(self, last_step: int) -> bytes:
        """Return the stored value after the use of the code of this step."""
        sealed = seal(self.secret, TOTP_FIELD)
        return msgspec.msgpack.encode(msgspec.structs.replace(self, secret=sealed, last_step=last_step))

    def unsealed(self) -> Self | None:
        """Return the value with its Base32 text, which earlier releases stored, or None without its key."""
        secret = self.secret if self.secret.isupper() else unseal(self.secret, TOTP_FIELD)
        return msgspec.structs.replace(self, secret=secret) if secret else None

    def find_step(self, code: str, now_ms: int) -> int | None:
        """Return the unused step near the present time that has this code, or None."""
        totp, present = pyotp.TOTP(self.secret), now_ms // 1000 // TOTP_STEP_S
        steps = range(present - TOTP_DRIFT_STEPS, present + TOTP_DRIFT_STEPS + 1)
        typed = code.encode()
        return next(
            (s for s in steps if compare_digest(totp.generate_otp(s).encode(), typed) and s > self.last_step), None
        )


class Passkey(msgspec.Struct, frozen=True, array_like=True):
    """A registered passkey. `credential` is the attested credential data of WebAuthn."""

    credential: bytes
    name: str
    sign_count: int
    created_ms: int
    last_used_ms: int = 0


@dataclass(frozen=True, slots=True)
class Factors:
    """The factors of an account. `encoded` has the stored value of each, by its field."""

    encoded: Mapping[str, bytes]

    @property
    def is_set(self) -> bool:
        """Return whether a log-in needs a second factor."""
        return self.totp is not None or bool(self.passkeys)

    @property
    def totp(self) -> Totp | None:
        value = self.encoded.get(TOTP_FIELD)
        return None if value is None else msgspec.msgpack.decode(value, type=Totp)

    @property
    def passkeys(self) -> dict[str, Passkey]:
        """Return the passkeys by id, the oldest first."""
        keys = {
            field.removeprefix(PASSKEY_PREFIX): msgspec.msgpack.decode(value, type=Passkey)
            for field, value in self.encoded.items()
            if field.startswith(PASSKEY_PREFIX)
        }
        return dict(sorted(keys.items(), key=lambda item: item[1].created_ms))

    @property
    def code_digests(self) -> tuple[str, ...]:
        """Return the digests of the unused recovery codes."""
        value = self.encoded.get(CODES_FIELD)
        return () if value is None else msgspec.msgpack.decode(value, type=tuple[str, ...])


def generate_recovery_code() -> str:
    """Return a random code of four groups, such as "k4xq-7mzp-2ab3-wxyz"."""
    text = base64.b32encode(secrets.token_bytes(RECOVERY_CODE_BYTES)).decode().lower()
    return "-".join(text[start : start + 4] for start in range(0, len(text), 4))


def normalize_code(text: str) -> str:
    """Return the letters and digits of a typed code: in lower case, in ASCII, without separators and invisible signs.

    Keyboards for Japanese or Arabic type other digits and dashes, and copied texts contain marks of direction.
    """
    letters = (each for each in normalize("NFKC", text).lower() if each.isalnum())
    return "".join(str(unicodedata.decimal(each, each)) for each in letters)


def digest_code(code: str) -> str:
    """Return the hex SHA-256 of a recovery code. Its 80 random bits need no slow hash."""
    return hashlib.sha256(normalize_code(code).encode()).hexdigest()


def passkey_id(credential_id: bytes) -> str:
    return hashlib.sha256(credential_id).hexdigest()[:32]
