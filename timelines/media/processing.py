"""The jobs of the queues `media` and `slowpictures`: each encodes one upload in a child process (encoder.py).

The queues are separate from the outbox, and the child process has a low priority, so that pictures delay no other job.
A picture that takes longer than QUICK_CPU_S is encoded again in the queue `slowpictures`, one at a time. So many
accounts with a costly picture each delay the pictures of others by seconds. A job may be repeated, and a killed child
is started again by the queue.
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import structlog

from socialsite.disk import is_storage_failure
from socialsite.ids import AccountId
from socialsite.recipes.job import PermanentFailure, make_job_decoder
from socialsite.recipes.job_queue import JobQueue
from socialsite.service import Part
from socialsite.store import StoreUnavailable
from timelines.media.media import CONTENT_TYPES, Crop, Media, MediaSize, media_file, parse_name, upload_file
from timelines.media.repository import MediaRows
from timelines.media.storage import MediaFiles, TemporaryMedia, open_descriptor

PICTURES_AT_ONCE = max(1, min(2, os.cpu_count() or 1))
QUICK_CPU_S, SLOW_CPU_S = 3, 20
TIMEOUT_S = 30.0
"""The time of any try. On a busy machine every picture takes long, so only processor time makes a picture slow."""
RESULT_MAX_BYTES = 4_096
PROJECT_DIRECTORY = Path(__file__).resolve().parent.parent.parent
KILLED_FOR_TIME = (-signal.SIGXCPU,)
log = structlog.stdlib.get_logger("timelines.media")


class EncodePicture(msgspec.Struct, frozen=True, tag="encode"):
    """Encode the upload of this name. `crop` is the part to show: left, top, width and height, from 0.0 to 1.0."""

    name: str
    crop: Crop | None = None
    owner: AccountId = AccountId(0)
    sender: AccountId = AccountId(0)
    """The account whose turn the job takes, if it is not the owner."""


class EncoderResult(msgspec.Struct, frozen=True):
    """The output of the child process: the reason of a refusal, or the properties of the picture."""

    refusal: str = ""
    width: int = 0
    height: int = 0
    small_width: int = 0
    small_height: int = 0
    blurhash: str = ""
    extension: str = "webp"
    is_animated: bool = False


class EncoderKilled(Exception):
    """The child process was killed from outside. The job is tried again."""


class TakesLong(Exception):
    """The picture was not encoded within QUICK_CPU_S."""


class FilesUnavailable(StoreUnavailable):
    """Files cannot be stored or read at present. The job is repeated until this works, and no file is refused."""


@contextmanager
def postpones_storage_failures() -> Iterator[None]:
    """Raise FilesUnavailable for errors of the disk."""
    try:
        yield
    except OSError as error:
        if not is_storage_failure(error):
            raise
        log.error("storage_unavailable", reason=str(error))
        raise FilesUnavailable(str(error)) from error


encode_job = msgspec.msgpack.Encoder().encode
decode_job: Callable[[bytes], EncodePicture] = make_job_decoder(EncodePicture)


class MediaProcessing(Part):
    rows: MediaRows
    files: MediaFiles
    slow_pictures: JobQueue

    async def handle(self, payload: bytes) -> tuple[bytes, ...]:
        """Encode one upload and store the result. Raises PermanentFailure if the payload is not a job."""
        with postpones_storage_failures():
            await self._perform(decode_job(payload), is_quick=False)
        return ()

    async def handle_quickly(self, payload: bytes) -> tuple[bytes, ...]:
        """Encode one upload, as `handle` does, or give it to the queue of slow pictures."""
        job = decode_job(payload)
        try:
            with postpones_storage_failures():
                await self._perform(job, is_quick=True)
        except TakesLong:
            await self.slow_pictures.add(payload, sender=job.sender or job.owner)
        return ()

    async def abandon(self, payload: bytes) -> None:
        """Refuse the picture of a job that failed for good, so that nobody waits for it."""
        try:
            parsed = parse_name(decode_job(payload).name)
        except PermanentFailure:
            return
        row = parsed and await self.rows.find(parsed[0])
        if row and row.state == "processing":
            with postpones_storage_failures():
                await self._refuse(row, "unreadable")

    async def _perform(self, job: EncodePicture, *, is_quick: bool) -> None:
        parsed = parse_name(job.name)
        if parsed is None:
            raise PermanentFailure(f"not the name of a picture: {job.name}")
        row = await self.rows.find(parsed[0])
        if row is not None and row.state == "processing":
            if await self._process(row, job, is_quick=is_quick):
                return
            row = await self.rows.find(row.id)
        if row is not None and row.state != "deleting":
            await self.files.delete([upload_file(job.name)])
            return
        await self.files.delete_picture(job.name)  # it was deleted, perhaps while a try stored the files
        if job.owner:
            await self.rows.count(job.owner, parsed[0], 0)

    async def _process(self, row: Media, job: EncodePicture, *, is_quick: bool) -> bool:
        """Return False if the picture is deleted, or was encoded by another worker, meanwhile. Raises TakesLong."""
        try:
            source = await self.files.open(upload_file(row.name))
        except FileNotFoundError:
            folder_id = await asyncio.to_thread(self.files.find_id)
            if self.files.folder is not None and folder_id != await self.rows.find_folder_id():
                raise FilesUnavailable(f"{self.files.folder} is not the folder of pictures of the site") from None
            return await self._refuse(row, "unreadable")
        with source:
            async with self.files.new_file() as full, self.files.new_file() as small:
                descriptor = await asyncio.to_thread(open_descriptor, source)
                result = await run_encoder(descriptor, full, small, row, job, is_quick=is_quick)
                if is_quick and result.refusal == "too_slow":
                    raise TakesLong
                if result.refusal:
                    return await self._refuse(row, result.refusal)
                sizes: dict[MediaSize, TemporaryMedia] = {"full": full, "small": small}
                for size, content in sizes.items():
                    await self.files.save(media_file(row.name, size, result.extension), content)
                size_bytes = full.measure() + small.measure()
        fields = msgspec.structs.asdict(result)
        del fields["refusal"]
        await self.rows.count(row.owner, row.id, size_bytes)
        return await self._finish(row, {**fields, "state": "ready", "size_bytes": size_bytes})

    async def _refuse(self, row: Media, refusal: str) -> bool:
        is_refused = await self._finish(row, {"state": "refused", "refusal": refusal, "size_bytes": 0})
        if is_refused:
            await self.rows.count(row.owner, row.id, 0)
        return is_refused

    async def _finish(self, row: Media, changed: dict[str, object]) -> bool:
        """Store the result, unless the row changed meanwhile, and delete the upload."""
        is_stored = await self.rows.update(row.id, {"state": "processing"}, changed)
        if is_stored:
            await self.files.delete([upload_file(row.name)])
        return is_stored


async def run_encoder(
    source: int, full: TemporaryMedia, small: TemporaryMedia, row: Media, job: EncodePicture, *, is_quick: bool
) -> EncoderResult:
    """Run the child process on an open file. Raises EncoderKilled."""
    crop = ",".join(map(str, job.crop)) if job.crop else ""
    outputs = [full.descriptor, small.descriptor]
    cpu_s = QUICK_CPU_S if is_quick else SLOW_CPU_S

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603  (our own arguments, no shell)
            [sys.executable, "-m", "timelines.media.encoder", row.kind, *map(str, outputs), crop, str(cpu_s)],
            stdin=source, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            pass_fds=outputs, cwd=PROJECT_DIRECTORY, env={"PATH": os.defpath},
        )  # fmt: skip

    # asyncio's own function would start the child on the thread of the loop.
    starting = asyncio.get_running_loop().run_in_executor(None, start)
    try:
        async with asyncio.timeout(TIMEOUT_S):
            process = await asyncio.shield(starting)
            assert process.stdout is not None
            output = await asyncio.to_thread(process.stdout.read, RESULT_MAX_BYTES)
            status = await asyncio.to_thread(process.wait)
    except TimeoutError:
        return EncoderResult(refusal="too_slow")
    finally:
        process = await starting  # even if cancelled, because the caller then closes the files of the child
        process.kill()
        await asyncio.to_thread(process.communicate)
    return parse_result(status, output, row.name)


def parse_result(status: int, output: bytes, name: str) -> EncoderResult:
    """Return the result of a child process that ended with this status. Raises EncoderKilled, FilesUnavailable."""
    if status in KILLED_FOR_TIME:
        return EncoderResult(refusal="too_slow")
    if status == os.EX_IOERR:
        raise FilesUnavailable("the encoder cannot write its files")
    if status in (-signal.SIGKILL, -signal.SIGTERM):
        raise EncoderKilled(f"signal {-status}")
    try:
        result = msgspec.json.decode(output, type=EncoderResult)
    except msgspec.DecodeError:
        result = EncoderResult(refusal="unreadable")
    if status != 0 or (not result.refusal and result.extension not in CONTENT_TYPES):
        log.warning("encoder_crashed", name=name, status=status)
        return EncoderResult(refusal="unreadable")
    return result
