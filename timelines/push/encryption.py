"""The encryption of push messages: aes128gcm (RFC 8188, RFC 8291), and for older apps aesgcm.

aesgcm is described in draft-ietf-webpush-encryption-04. A message is one record.
"""

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

KEY_BYTES, NONCE_BYTES, SECRET_BYTES, TAG_BYTES = 16, 12, 32, 16
MIN_RECORD_BYTES = 4_096


def encode_point(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def encrypt_aes128gcm(
    plaintext: bytes, *, salt: bytes, own_key: ec.EllipticCurvePrivateKey, device_point: bytes, auth: bytes
) -> bytes:
    """Return the body of a message, which begins with the salt and the public key of the sender."""
    own_point = encode_point(own_key.public_key())
    secret = _derive(
        _exchange(own_key, device_point), auth, b"WebPush: info\0" + device_point + own_point, SECRET_BYTES
    )
    record = plaintext + b"\2"  # the delimiter of the last record
    record_bytes = max(len(record) + TAG_BYTES, MIN_RECORD_BYTES)
    header = salt + record_bytes.to_bytes(4, "big") + bytes([len(own_point)]) + own_point
    return header + _encrypt(record, secret, salt, b"aes128gcm\0", b"nonce\0")


def encrypt_aesgcm(
    plaintext: bytes, *, salt: bytes, own_key: ec.EllipticCurvePrivateKey, device_point: bytes, auth: bytes
) -> bytes:
    """Return the body of a message. Headers have to contain the salt and the public key of the sender."""
    secret = _derive(_exchange(own_key, device_point), auth, b"Content-Encoding: auth\0", SECRET_BYTES)
    points = (device_point, encode_point(own_key.public_key()))
    context = b"\0P-256\0" + b"".join(len(point).to_bytes(2, "big") + point for point in points)
    return _encrypt(b"\0\0" + plaintext, secret, salt, b"aesgcm" + context, b"nonce" + context)  # two bytes: no padding


def _exchange(own_key: ec.EllipticCurvePrivateKey, device_point: bytes) -> bytes:
    return own_key.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), device_point))


def _derive(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(hashes.SHA256(), length, salt, info).derive(secret)


def _encrypt(record: bytes, secret: bytes, salt: bytes, key_info: bytes, nonce_info: bytes) -> bytes:
    key = _derive(secret, salt, b"Content-Encoding: " + key_info, KEY_BYTES)
    nonce = _derive(secret, salt, b"Content-Encoding: " + nonce_info, NONCE_BYTES)
    return AESGCM(key).encrypt(nonce, record, None)
