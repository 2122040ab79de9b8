"""The type `Transfer`, an export of an account or an import into it, and the jobs of the queue `archives`."""

import re
from collections.abc import Callable
from typing import Final, Literal

import msgspec

from socialsite.ids import AccountId
from socialsite.recipes.job import make_job_decoder
from socialsite.recipes.job_queue import RetryPolicy

TRANSFERS_CAP: Final = 20
"""The number of exports and imports of an account that are stored."""
STALLED_MS = 3_600_000
"""A transfer that made no progress for so long has lost its job, and may be replaced or continued."""
JOB_TIMEOUT_S = 1_800.0
RETRY_POLICY = RetryPolicy(
    stuck_after_ms=int(JOB_TIMEOUT_S * 1000) + 60_000, retry_delays_ms=(500, 1_000, 2_000, 4_000, *(8_000,) * 8)
)
"""A job takes minutes, and is repeated more often than other jobs."""
FOLDER = "archives"
"""The folder of the storage with the files of transfers. No page serves it."""
FILE_NAME = re.compile(r"([1-9][0-9]{0,15})-([1-9][0-9]{0,15})-([0-9a-f]{32})")

TransferKind = Literal["export", "import"]
TransferState = Literal["running", "ready", "importing", "done", "undoing", "undone", "failed"]
"""An export is running, then ready. An import is running while its preview is made, and ready when it is shown."""
ACTIVE_STATES: Final[tuple[TransferState, ...]] = ("running", "importing", "undoing")

ImportContent = Literal["posts", "following", "muted", "blocked", "lists"]


class Transfer(msgspec.Struct, frozen=True, array_like=True):
    """A value of `timelines:{<account>}:transfers`. New fields are added at the end."""

    id: int
    kind: TransferKind
    secret: str
    """128 random bits in the name of the file."""
    state: TransferState
    changed_ms: int
    expires_ms: int
    """The time at which the file is deleted, and after which an import cannot be undone."""
    base_url: str
    """The URL of the site without a slash at its end, from which the URLs of posts are made."""
    language: str = "en"
    done: int = 0
    total: int = 0
    """The steps of the present state, of which `done` are finished. 0 if their number is not known."""
    size_bytes: int = 0
    title: str = ""
    """The name of an uploaded file."""
    content: ImportContent = "posts"
    """What an uploaded file contains."""
    counts: dict[str, int] = {}
    """What an import contains or has imported, by its kind."""
    refused: dict[str, int] = {}
    """The number of rows that cannot be imported, by the reason."""
    error: str = ""
    """The reason why the transfer failed: a code."""
    offset: int = 0
    """The number of the last row of an import that `counts` and `refused` contain. Its job continues after it."""

    def file_name(self, account_id: AccountId) -> str:
        return f"{FOLDER}/{account_id}-{self.id}-{self.secret}"

    @property
    def is_active(self) -> bool:
        """Return whether a job has to work at the transfer."""
        return self.state in ACTIVE_STATES

    def is_running(self, now_ms: int) -> bool:
        """Return whether the transfer is active and has not lost its job."""
        return self.is_active and self.changed_ms >= now_ms - STALLED_MS

    def is_replaceable(self, now_ms: int) -> bool:
        """Return whether the transfer is an export, or an import that has not begun, and no job works at it."""
        return self.state in ("running", "ready", "failed") and not self.is_running(now_ms)


encode_transfer = msgspec.msgpack.Encoder().encode
decode_transfer = msgspec.msgpack.Decoder(Transfer).decode


class TransferJob(msgspec.Struct, frozen=True, tag="transfer"):
    """Continue a transfer. Its state names the next step."""

    account_id: AccountId
    transfer_id: int
    network: str = ""
    """The digest of the address that requested it. The imports of an address are limited together."""


encode_job = msgspec.msgpack.Encoder().encode
decode_job: Callable[[bytes], TransferJob] = make_job_decoder(TransferJob)
