"""A device with a push subscription: it has the keys of a browser, and decrypts what a push service received."""

import base64
import os
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from socialsite.outgoing.requests import OutgoingClient
from tests.support.certificates import Certificates
from tests.support.remote_server import RecordedRequest, RemoteServer, remote_server


def encode(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class PushDevice:
    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._secret = os.urandom(16)

    @property
    def keys(self) -> dict[str, str]:
        point = self._key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        return {"p256dh": encode(point), "auth": encode(self._secret)}

    def decrypt(self, request: RecordedRequest) -> dict[str, Any]:
        """Return the message. Older apps decrypt as Mastodon.py does."""
        own_point = decode(self.keys["p256dh"])
        if request.headers["content-encoding"] == "aesgcm":
            crypto_key = dict(part.split("=", 1) for part in request.headers["crypto-key"].split(";"))
            salt, sender, ciphertext = (
                decode(request.headers["encryption"].removeprefix("salt=")), decode(crypto_key["dh"]), request.body,
            )  # fmt: skip
            context = b"\0P-256\0\0A" + own_point + b"\0A" + sender
            auth_info, key_info, nonce_info = b"Content-Encoding: auth\0", b"aesgcm" + context, b"nonce" + context
        else:
            salt, sender, ciphertext = request.body[:16], request.body[21:86], request.body[86:]
            auth_info = b"WebPush: info\0" + own_point + sender
            key_info, nonce_info = b"aes128gcm\0", b"nonce\0"
        shared = self._key.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender))
        secret = HKDF(hashes.SHA256(), 32, self._secret, auth_info).derive(shared)
        key, nonce = (
            HKDF(hashes.SHA256(), length, salt, b"Content-Encoding: " + info).derive(secret)
            for length, info in ((16, key_info), (12, nonce_info))
        )
        plaintext = AESGCM(key).decrypt(nonce, ciphertext, None).strip(b"\0\2")
        message: dict[str, Any] = msgspec.json.decode(plaintext)
        return message


def read_claims(token: str, public_key: str) -> dict[str, Any]:
    """Return the claims of a JSON Web Token. Raises InvalidSignature."""
    signed, _, signature = token.rpartition(".")
    r, s = (int.from_bytes(half, "big") for half in (decode(signature)[:32], decode(signature)[32:]))
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), decode(public_key))
    key.verify(encode_dss_signature(r, s), signed.encode(), ec.ECDSA(hashes.SHA256()))
    claims: dict[str, Any] = msgspec.json.decode(decode(signed.split(".")[1]))
    return claims


@asynccontextmanager
async def push_service(directory: Path) -> AsyncIterator[tuple[RemoteServer, OutgoingClient]]:
    """Start a push service on loopback with TLS. Return it, and a client that may reach it."""
    Certificates(directory)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(directory / "server.crt", directory / "server.key")
    async with remote_server(tls=tls) as server:
        trust = ssl.create_default_context(cafile=str(directory / "ca.crt"))
        yield server, OutgoingClient(exempt=server.exempt, ssl_context=trust)
