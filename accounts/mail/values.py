"""Values of mail: the jobs of the queue `mail`, and the state of each mail."""

from collections.abc import Callable
from typing import Literal

import msgspec

from socialsite.clock import DAY_MS
from socialsite.ids import AccountId
from socialsite.recipes.job import make_job_decoder

MAILS_CAP = 30
MAIL_MAX_AGE_MS = 2 * DAY_MS
"""A mail that is older is not sent, for example a job of a restored backup."""
RETRY_DELAYS_MS = tuple(minutes * 60_000 for minutes in (1, 5, 20, 60, 180, 360, 720))
REASON_MAX_LENGTH = 300

MailKind = Literal[
    "confirm_address", "reset", "new_device", "password_changed", "new_app", "factor_changed", "address_changed",
    "archive_ready", "import_done", "deletion_requested", "sanction", "sanction_undone", "appeal_decided",
    "digest", "alert", "summary", "test", "approved", "refused",
]  # fmt: skip
DIGEST_PERIODS_MS = {"daily": DAY_MS, "weekly": 7 * DAY_MS}
DIGESTS = ("off", *DIGEST_PERIODS_MS)
MailState = Literal["queued", "sending", "sent", "delayed", "refused", "failed"]
"""`sending` remains if the worker died in the try: the mail may have been sent, and is sent again with the same id.
`refused` means that a mail server refused the address or the mail; `failed` that every try failed."""


class SendMail(msgspec.Struct, frozen=True, tag="send"):
    """Send one mail. Secret links are made when it is sent, so that neither the job nor a dead letter has them."""

    account_id: AccountId
    id: str
    kind: MailKind
    address: str
    language: str
    created_ms: int
    context: dict[str, str] = {}


class RequestReset(msgspec.Struct, frozen=True, tag="reset"):
    """Send a mail to reset the password, if an account has the address."""

    id: str
    address: str
    language: str
    created_ms: int


MailJob = SendMail | RequestReset
encode_job = msgspec.msgpack.Encoder().encode
decode_job: Callable[[bytes], MailJob] = make_job_decoder(MailJob)


class SentMail(msgspec.Struct, frozen=True, array_like=True):
    """The state of one mail. `at_ms` is the time of the last change."""

    kind: MailKind
    address: str
    state: MailState
    at_ms: int
    tries: int = 0
    reason: str = ""
    """What the mail server of the recipient answered to a refused mail."""


encode_mail = msgspec.msgpack.Encoder().encode
decode_mail: Callable[[bytes], SentMail] = msgspec.msgpack.Decoder(SentMail).decode
