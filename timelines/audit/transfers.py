"""Checks that each file of an export or import belongs to a transfer, and that each ready transfer has its file."""

from collections.abc import AsyncIterator, Sequence
from functools import partial

from msgspec import structs

from socialsite.batches import batches
from socialsite.ids import AccountId
from socialsite.store import Key
from timelines import keys
from timelines.audit.context import AuditContext
from timelines.audit.discrepancy import Discrepancy
from timelines.audit.reader import AuditReader
from timelines.exporting.transfer import FILE_NAME, FOLDER, decode_transfer

FILES_PER_ROUND = 1_000


class TransferChecks:
    def __init__(self, context: AuditContext) -> None:
        self._context = context
        self._names_by_key: dict[Key, set[str]] = {}
        self.with_files = True

    async def keys_of_files(self) -> AsyncIterator[list[Key]]:
        """Yield the keys of the transfers to which the stored files belong. `transfers` then finds the other files."""
        names = await self._context.media_files.list_names(f"{FOLDER}/")
        for name in names:
            if match := FILE_NAME.fullmatch(name.removeprefix(f"{FOLDER}/")):
                self._names_by_key.setdefault(keys.transfers(int(match[1])), set()).add(name)
        for batch in batches(sorted(self._names_by_key), FILES_PER_ROUND):
            yield batch

    async def transfers(self, reader: AuditReader, checked: Sequence[Key]) -> AsyncIterator[Discrepancy]:
        """Check the files of both directions. A transfer without its file has failed; its owner may repeat it."""
        for key, (values,) in await reader.read_each(checked, ("HVALS",)):
            owner, transfers = AccountId(int(key.tag)), [decode_transfer(value) for value in values]
            for name in self._names_by_key.get(key, set()) - {each.file_name(owner) for each in transfers}:
                delete = partial(self._context.media_files.delete, [name])
                yield Discrepancy("file_without_transfer", key, name, delete, is_damage=False)
            ready = [each for each in transfers if each.state == "ready" and self.with_files]
            sizes = await self._context.media_files.read_sizes(each.file_name(owner) for each in ready)
            for transfer, size in zip(ready, sizes, strict=True):
                if size is None:
                    failed = structs.replace(transfer, state="failed", error="unreadable")
                    repair = partial(self._context.transfers.replace, owner, transfer, failed)
                    yield Discrepancy("transfer_without_file", key, str(transfer.id), repair, is_damage=False)
