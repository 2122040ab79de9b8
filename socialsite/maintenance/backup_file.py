"""The file of a backup: a header, compressed blocks of records, an end that vouches for all of it.

    SOCIALSITE BACKUP\\n | block | block | ... | end
    block: length (4 bytes, big-endian) | CRC-32 (4 bytes) | zlib of a MessagePack list of records
    the first block is the Header, the last one (after a length of 0) the Ending, with SHA-256 of the rest

A file is whole or it is refused: it is read to its end before anything of it is used.
"""

import contextlib
import hashlib
import os
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self, TypeVar

import msgspec

from socialsite.maintenance.dump import KeyRecord

MAGIC = b"SOCIALSITE BACKUP\n"
FORMAT_VERSION = 1
BLOCK_BYTES = 1 << 20  # before compression
MAX_BLOCK_BYTES = 1 << 30

T = TypeVar("T")


class InvalidBackup(Exception):
    """Not a backup, not a whole one, or one of a later version. The message says which."""


class BackupHeader(msgspec.Struct, frozen=True):
    """`partitions`: FOLLOW_PARTITIONS and PROFILE_PARTITIONS of the site; its keys name them."""

    version: int
    at_ms: int
    partitions: dict[str, int]


class BackupFooter(msgspec.Struct, frozen=True):
    """`counts`: keys by family."""

    counts: dict[str, int]
    sha256: str


_encoder = msgspec.msgpack.Encoder()
_records_decoder = msgspec.msgpack.Decoder(list[KeyRecord])
_header_decoder = msgspec.msgpack.Decoder(BackupHeader)
_footer_decoder = msgspec.msgpack.Decoder(BackupFooter)


class BackupWriter:
    """Writes beside the name and takes it at the end: a backup of that name is replaced by a whole one or not
    at all. Readable by its owner only: it holds what the accounts keep secret."""

    def __init__(self, path: Path, header: BackupHeader) -> None:
        self._path = path
        self._temporary_path = path.with_name(path.name + ".part")
        self._temporary_path.unlink(missing_ok=True)
        handle = os.open(self._temporary_path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        self._file: IO[bytes] = os.fdopen(handle, "wb")
        self._hash = hashlib.sha256()
        self._pending_records: list[KeyRecord] = []
        self._pending_bytes = 0
        self.counts: Counter[str] = Counter()
        self._write(MAGIC)
        self._write_block(_encoder.encode(header))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if kind is None:
            self._finish()
        else:
            self._file.close()
            with contextlib.suppress(OSError):
                self._temporary_path.unlink()

    def add(self, family: str, records: Sequence[KeyRecord]) -> None:
        self.counts[family] += len(records)
        for record in records:
            self._pending_records.append(record)
            self._pending_bytes += sum(map(len, record.parts)) + len(record.key)
            if self._pending_bytes >= BLOCK_BYTES:
                self._flush()

    def _flush(self) -> None:
        if self._pending_records:
            self._write_block(_encoder.encode(self._pending_records))
        self._pending_records, self._pending_bytes = [], 0

    def _write_block(self, content: bytes) -> None:
        packed = zlib.compress(content, 6)
        self._write(len(packed).to_bytes(4) + zlib.crc32(packed).to_bytes(4) + packed)

    def _write(self, data: bytes) -> None:
        self._hash.update(data)
        self._file.write(data)

    def _finish(self) -> None:
        self._flush()
        self._write((0).to_bytes(4))
        self._write_block(_encoder.encode(BackupFooter(dict(self.counts), self._hash.hexdigest())))
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._temporary_path.replace(self._path)


class BackupReader:
    """Reads a file twice: `check` to its end, then `blocks`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def size(self) -> int:
        return self._path.stat().st_size

    def verify(self) -> tuple[BackupHeader, BackupFooter]:
        """Raises InvalidBackup where anything is missing or was changed; OSError."""
        counted = 0
        with self._path.open("rb") as file:
            reading = _BlockReader(file)
            header = reading.read_header()
            while (block := reading.read_block()) is not None:
                counted += len(decode_records(block))
            digest = reading.digest
            ending = reading.decode(_footer_decoder, reading.read_block())
            if file.read(1):
                raise InvalidBackup("something follows after its end")
        if ending.sha256 != digest:
            raise InvalidBackup("its checksum is wrong")
        if counted != sum(ending.counts.values()):
            raise InvalidBackup("records are missing")
        return header, ending

    def iterate_blocks(self) -> Iterator[tuple[int, list[KeyRecord]]]:
        """(bytes of the file read so far, records)"""
        with self._path.open("rb") as file:
            reading = _BlockReader(file)
            reading.read_header()
            while (block := reading.read_block()) is not None:
                yield file.tell(), decode_records(block)


class _BlockReader:
    """One reading of a file from its beginning."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._hash = hashlib.sha256()
        if self._read_exactly(len(MAGIC)) != MAGIC:
            raise InvalidBackup("it is no backup of this site")

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    def read_header(self) -> BackupHeader:
        header = self.decode(_header_decoder, self.read_block())
        if header.version != FORMAT_VERSION:
            raise InvalidBackup(f"its version is {header.version}, this release reads {FORMAT_VERSION}")
        return header

    def read_block(self) -> bytes | None:
        """The next block; None at the mark of the end."""
        length = int.from_bytes(self._read_exactly(4))
        if length == 0:
            return None
        if length > MAX_BLOCK_BYTES:
            raise InvalidBackup("a block has an impossible length")
        crc, packed = int.from_bytes(self._read_exactly(4)), self._read_exactly(length)
        if zlib.crc32(packed) != crc:
            raise InvalidBackup("the checksum of a block is wrong")
        return zlib.decompress(packed)

    def decode(self, decoder: "msgspec.msgpack.Decoder[T]", block: bytes | None) -> T:
        try:
            return decoder.decode(block or b"")
        except msgspec.MsgspecError as error:
            raise InvalidBackup(f"a block cannot be read: {error}") from error

    def _read_exactly(self, count: int) -> bytes:
        data = self._file.read(count)
        if len(data) != count:
            raise InvalidBackup("it ends too early")
        self._hash.update(data)
        return data


def decode_records(block: bytes) -> list[KeyRecord]:
    try:
        return _records_decoder.decode(block)
    except msgspec.MsgspecError as error:
        raise InvalidBackup(f"a block cannot be read: {error}") from error
