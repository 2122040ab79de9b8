"""Pictures in S3-compatible storage, against moto."""

import boto3
import pytest
from django.core.files.storage import default_storage
from moto import mock_aws

from socialsite.settings_parsers import build_media_storage
from tests.contract.media.test_media import publish, upload
from timelines.media.storage import MediaFiles

BUCKET = "pictures"


@pytest.fixture
def bucket(settings, monkeypatch, tmp_path):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    with mock_aws():
        boto3.client("s3").create_bucket(Bucket=BUCKET)
        settings.STORAGES = {**settings.STORAGES, "default": build_media_storage(tmp_path, BUCKET, "")}
        yield
    assert list(tmp_path.iterdir()) == []


async def test_pictures_are_stored_served_and_deleted_in_a_bucket(bucket, services, alice):
    row = await upload(services, alice)
    assert row.state == "ready"
    names = await MediaFiles().list_names()
    assert [name.rpartition("/")[2].partition(".")[2] for name in sorted(names)] == ["full.jpg", "small.jpg"]
    size = sum(map(default_storage.size, names))
    assert row.size_bytes == size
    post = await publish(services, alice, row)
    served = await services.media.find_file(None, row.name, "full", "jpg")
    chunks = [chunk async for chunk in services.media.files.read_chunks(await services.media.files.open(served.name))]
    assert b"".join(chunks)[:3] == b"\xff\xd8\xff"
    await services.media_deletion.measure()
    assert (await services.repositories.media_rows.read_site_use()) == (size, None)
    await alice.deletes(post)
    assert await services.media_deletion.check_due() == 1
    assert await MediaFiles().list_names() == []
