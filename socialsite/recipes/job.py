"""A job as its handler gets it, and how the handler refuses or delays it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec


@dataclass(frozen=True, slots=True)
class Job:
    """A delivered job. `tries` counts the deliveries from 1. `sender` is empty if the job has no sender."""

    id: str
    payload: bytes
    tries: int
    sender: str = ""


class PermanentFailure(Exception):
    """A job handler raises this if the job can never succeed. The job becomes a dead letter without another try."""


def make_job_decoder(job_type: Any) -> Callable[[bytes], Any]:
    """Return a function that decodes jobs of this type. It raises PermanentFailure for a job that it cannot decode."""
    decoder = msgspec.msgpack.Decoder(job_type)

    def decode(payload: bytes) -> Any:
        try:
            return decoder.decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise PermanentFailure(f"not a job of this release: {error}") from error

    return decode


class RetryLater(Exception):
    """A job handler raises this if the job is to be tried again after at least `delay_ms`."""

    def __init__(self, reason: str, *, delay_ms: int) -> None:
        super().__init__(reason)
        self.delay_ms = delay_ms


def parse_payload(fields: Sequence[bytes]) -> bytes:
    """Return the payload of a stream entry, or b"" if it has none. The job handler refuses an empty payload."""
    return dict(zip(fields[::2], fields[1::2], strict=True)).get(b"payload", b"")


def parse_job(id: bytes, fields: Sequence[bytes]) -> Job:
    """Return the job of a stream entry that is delivered for the first time."""
    sender = dict(zip(fields[::2], fields[1::2], strict=True)).get(b"sender", b"")
    return Job(id.decode(), parse_payload(fields), 1, sender.decode())
