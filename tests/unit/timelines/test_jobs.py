"""Payloads of outbox jobs are decoded, and invalid payloads raise one error."""

import msgspec
import pytest

from socialsite.ids import MAX_ID, AccountId, PostId
from timelines.jobs import DeleteBoostsOfPost, SyndicatePass, SyndicatePost, decode_job, encode_job
from timelines.posts.post import Post

GOOD = encode_job(SyndicatePost.from_post(Post(PostId(MAX_ID), AccountId(7), "hello")))
NEST = b"\x91" * 100_000 + b"\xc0"


def post_of(value: bytes) -> bytes:
    return b"\x82\xa4type\xa4post\xa4post" + value


@pytest.mark.parametrize(
    "payload",
    [
        b"", b"rubbish", GOOD[:-1], GOOD + b"x", GOOD.replace(b"\xa4post\xa4", b"\xa4p\x81st\xa4", 1),
        post_of(NEST), post_of(b"\x9b\x01\x02\xa1x" + b"\xc0" * 7 + NEST), post_of(b"\x93\x01\x02\xa1\xff"),
        post_of(msgspec.msgpack.encode([-1, 2, "x"])), post_of(msgspec.msgpack.encode([MAX_ID + 1, 2, "x"])),
        encode_job(SyndicatePass(PostId(1), AccountId(2), "homes", 0, -1, 0)).replace(b"\x01", b"\xff", 1),
        msgspec.msgpack.encode({"type": "fade", "post_id": 1 << 60}),
    ],
)  # fmt: skip
def test_an_invalid_payload_is_refused(payload: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode_job(payload)


def test_a_job_is_unchanged_after_encoding_and_decoding() -> None:
    for job in (SyndicatePass(PostId(1), AccountId(2), "lists", 3, 4, 5), DeleteBoostsOfPost(PostId(0))):
        assert decode_job(encode_job(job)) == job
    assert encode_job(decode_job(GOOD)) == GOOD
