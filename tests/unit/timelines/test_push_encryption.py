"""The encryption of push messages gives the bytes of the examples in its specifications."""

from base64 import urlsafe_b64decode

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from tests.support.push_device import read_claims
from timelines.push import encryption
from timelines.push.subscription import VapidKey


def decode(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


@pytest.mark.parametrize(
    ("encrypt", "plaintext", "private", "device_point", "auth", "salt", "body"),
    [
        pytest.param(
            encryption.encrypt_aes128gcm,
            b"When I grow up, I want to be a watermelon",
            "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw",
            "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
            "BTBZMqHH6r4Tts7J_aSIgg",
            "DGv6ra1nlYgDCS1FRnbzlw",
            "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK"
            "6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN",
            id="RFC 8291, section 5",
        ),
        pytest.param(
            encryption.encrypt_aesgcm,
            b"I am the walrus",
            "nCScek-QpEjmOOlT-rQ38nZzvdPlqa00Zy0i6m2OJvY",
            "BCEkBjzL8Z3C-oi2Q7oE5t2Np-p7osjGLg93qUP0wvqRT21EEWyf0cQDQcakQMqz4hQKYOQ3il2nNZct4HgAUQU",
            "R29vIGdvbyBnJyBqb29iIQ",
            "lngarbyKfMoi9Z75xYXmkg",
            "6nqAQUME8hNqw5J3kl8cpVVJylXKYqZOeseZG8UueKpA",
            id="draft-ietf-webpush-encryption-04, section 5",
        ),
    ],
)
def test_a_message_is_encrypted_as_in_the_example(encrypt, plaintext, private, device_point, auth, salt, body) -> None:
    own_key = ec.derive_private_key(int.from_bytes(decode(private), "big"), ec.SECP256R1())
    keys = {"salt": decode(salt), "own_key": own_key, "device_point": decode(device_point), "auth": decode(auth)}
    assert encrypt(plaintext, **keys) == decode(body)


@pytest.mark.parametrize(
    ("endpoint", "origin"),
    [
        ("https://web.push.apple.com/QN-1", "https://web.push.apple.com"),
        ("https://Push.Example:443/wpush/v2/x?y=1", "https://push.example"),
        ("https://push.example:8443/x", "https://push.example:8443"),
    ],
)
def test_the_audience_of_a_signature_is_the_origin_of_the_push_service(endpoint: str, origin: str) -> None:
    key = VapidKey(VapidKey.generate())
    claims = read_claims(key.sign(endpoint, "mailto:ops@example.org"), key.public_key)
    assert (claims["aud"], claims["sub"]) == (origin, "mailto:ops@example.org")
