"""Push subscriptions as values, the encryption of messages (RFC 8291), and the site's signature (RFC 8292, VAPID)."""

import base64
import hmac
import os
import time
from typing import Final, Literal, Self, get_args

import msgspec
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from django.utils.translation import gettext_lazy as _
from fido2.utils import websafe_encode

from socialsite.errors import Invalid
from socialsite.site.hosts import origin_of
from timelines.notifications.kinds import KINDS
from timelines.push.encryption import encode_point, encrypt_aes128gcm, encrypt_aesgcm

TTL_S: Final = 48 * 3_600
"""A push service holds a message for so long if the device cannot be reached."""
SIGNATURE_TTL_S: Final = 12 * 3_600
SEALED_FOR: Final = "push"
"""The purpose of the encryption of access tokens."""
PUBLIC_KEY_BYTES, AUTH_BYTES = 65, 16

PushPolicy = Literal["all", "followed", "follower", "none"]
POLICIES: Final[tuple[PushPolicy, ...]] = get_args(PushPolicy)
"""The accounts whose actions are pushed: all, those that the reader follows, followers of the reader, or none."""


class PushSubscription(msgspec.Struct, frozen=True):
    """Where and how a session or an access token receives notifications.

    `kinds` are names. `sealed_token` is the encrypted access token, which messages to apps contain. `locale` is the
    language of texts.
    """

    endpoint: str
    p256dh: bytes
    auth: bytes
    created_ms: int
    kinds: tuple[str, ...] = msgspec.field(default_factory=lambda: tuple(KINDS))
    policy: PushPolicy = "all"
    is_standard: bool = True
    locale: str = "en"
    sealed_token: str = ""

    @classmethod
    def parse(cls, *, endpoint: str, p256dh: str, auth: str, created_ms: int) -> Self:
        """Return a subscription with the keys of a browser. Raises Invalid."""
        public_key, secret = decode_base64(p256dh), decode_base64(auth)
        try:
            ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), public_key)
        except ValueError:
            public_key = b""
        if len(public_key) != PUBLIC_KEY_BYTES or len(secret) != AUTH_BYTES:
            raise Invalid({"keys": _("These are not the keys of a browser.")})
        return cls(endpoint, public_key, secret, created_ms)


def decode_base64(text: str) -> bytes:
    """Return the bytes of a base64 text of either alphabet, with or without padding, or b"" for another text."""
    try:
        return base64.urlsafe_b64decode(f"{text.rstrip('=')}==")  # too much padding is ignored
    except ValueError:
        return b""


class VapidKey:
    """The key pair of the site, by which push services recognize it."""

    def __init__(self, secret: str) -> None:
        """Read the private value in base64. Raises ValueError if the value is invalid."""
        self._private_key = ec.derive_private_key(int.from_bytes(decode_base64(secret), "big"), ec.SECP256R1())
        self.public_key = websafe_encode(encode_point(self._private_key.public_key()))

    @staticmethod
    def generate() -> str:
        private_value = ec.generate_private_key(ec.SECP256R1()).private_numbers().private_value
        return websafe_encode(private_value.to_bytes(32, "big"))

    def sign(self, endpoint: str, contact: str) -> str:
        """Return a JSON Web Token for the origin of the endpoint."""
        claims = {"aud": origin_of(endpoint), "exp": int(time.time()) + SIGNATURE_TTL_S, "sub": contact}
        parts = [websafe_encode(msgspec.json.encode(part)) for part in ({"typ": "JWT", "alg": "ES256"}, claims)]
        signed = ".".join(parts)
        r, s = decode_dss_signature(self._private_key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{signed}.{websafe_encode(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


def encrypt(
    subscription: PushSubscription, plaintext: bytes, key: VapidKey, contact: str
) -> tuple[bytes, dict[str, str]]:
    """Return the body and the headers of a push message, as aes128gcm or, for older apps, as aesgcm."""
    token, salt = key.sign(subscription.endpoint, contact), os.urandom(16)
    own_key = ec.generate_private_key(ec.SECP256R1())
    version, encrypt_body = ("aes128gcm", encrypt_aes128gcm) if subscription.is_standard else ("aesgcm", encrypt_aesgcm)
    body = encrypt_body(plaintext, salt=salt, own_key=own_key, device_point=subscription.p256dh, auth=subscription.auth)
    headers = {"TTL": str(TTL_S), "Content-Encoding": version, "Content-Type": "application/octet-stream"}
    if subscription.is_standard:
        return body, headers | {"Authorization": f"vapid t={token}, k={key.public_key}"}
    point = encode_point(own_key.public_key())
    return body, headers | {
        "Authorization": f"WebPush {token}",
        "Encryption": f"salt={websafe_encode(salt)}",
        "Crypto-Key": f"dh={websafe_encode(point)};p256ecdsa={key.public_key}",
    }


def topic_of(subscription: PushSubscription, subject: str) -> str:
    """Return the header Topic: a message replaces an undelivered one about the same subject."""
    return websafe_encode(hmac.digest(subscription.auth, subject.encode(), "sha256"))[:32]
