"""Imports the pictures of posts, through the same quotas and the same encoder as uploads."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.core.files.base import ContentFile

from socialsite.ids import AccountId
from timelines.errors import MediaInvalid, MediaQuotaReached
from timelines.importing.rows import PictureRow
from timelines.media.media import ALT_MAX_LENGTH, UPLOAD_MAX_BYTES, Media, find_refusal
from timelines.media.processing import EncodePicture, MediaProcessing, encode_job
from timelines.media.service import MediaService
from timelines.posts.post import MediaAttachment

ReadPicture = Callable[[str], bytes | None]
Refuse = Callable[[str], None]


@dataclass(kw_only=True, slots=True)
class PicturesImport:
    media: MediaService
    media_processing: MediaProcessing

    async def upload(
        self, owner_id: AccountId, pictures: Iterable[PictureRow], read: ReadPicture, refuse: Refuse
    ) -> dict[str, MediaAttachment]:
        """Upload and encode pictures. Return them by the names of their files.

        Call `refuse` with the reason for each that is not imported.
        """
        attachments: dict[str, MediaAttachment] = {}
        for picture in pictures:
            row, refusal = await self._upload(owner_id, picture, await asyncio.to_thread(read, picture.file))
            if row is not None:
                attachments[picture.file] = row.attachment
            else:
                refuse(f"picture_{refusal}")
        return attachments

    async def _upload(
        self, owner_id: AccountId, picture: PictureRow, content: bytes | None
    ) -> tuple[Media | None, str | None]:
        """Return the encoded picture, or the reason why there is none."""
        if content is None:
            return None, "missing"
        if len(content) > UPLOAD_MAX_BYTES:
            return None, "too_many_bytes"
        file = ContentFile(content, "picture")
        if refusal := find_refusal(file):
            return None, refusal
        try:
            row = await self.media.upload(
                owner_id=owner_id, content=file, alt=picture.description[:ALT_MAX_LENGTH], focus=picture.focus
            )
        except MediaQuotaReached:
            return None, "quota"
        except MediaInvalid:
            return None, "description"
        # A worker may be first. Then this waits for nothing that is not done.
        await self.media_processing.handle(encode_job(EncodePicture(row.name, None, owner_id)))
        encoded = await self.media.rows.find(row.id)
        if encoded is None or encoded.state != "ready":
            return None, encoded.refusal if encoded else "missing"
        return encoded, None
