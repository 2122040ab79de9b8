"""manage.py try_import counts the rows of a file and prints nothing of its content."""

from datetime import datetime
from pathlib import Path

import pytest
from django.core.management import CommandError

from tests.contract.importing.test_bluesky_archives import car
from tests.contract.importing.test_foreign_archives import colored, outbox, tweet, x_archive, zipped
from tests.contract.importing.test_import_archives import attachment, note
from tests.support.corpora import read_posts
from tests.support.management import run_command
from timelines.importing.service import CSV_MAX_BYTES
from timelines.importing.x_rows import TWEET_DATES

SECRET = "zanzibar"


def mastodon() -> bytes:
    odd = note(5, SECRET)
    odd["object"]["published"] = {SECRET: SECRET}
    unknown = note(6, SECRET)
    unknown["object"]["id"] = [SECRET]
    poll = [{"name": f"{SECRET} {number}"} for number in range(2)]
    rows = [
        note(1, f"<p>{SECRET}</p>", attachment=[attachment("a.png"), attachment(f"{SECRET}.png")]),
        note(2, SECRET, oneOf=poll, summary=SECRET, inReplyTo=f"https://{SECRET}.example/1", contentMap={"de": SECRET}),
        note(3, SECRET, to=f"https://{SECRET}.example/users/bob"), {"type": "Announce", "object": SECRET}, odd, unknown,
        {"type": SECRET, "object": {}}, {"object": None}, SECRET,
    ]  # fmt: skip
    files = {"media_attachments/files/1/original/a.png": colored("red"), f"a.{SECRET}": b"", "actor.json": SECRET}
    return zipped({"outbox.json": outbox(*rows), "likes.json": f'{{"orderedItems": ["{SECRET}"]}}', **files})


BLUESKY = {
    "app.bsky.feed.post/3aaa": {"text": SECRET, "createdAt": "2024-05-01T10:00:00.000Z", "langs": ["en"]},
    "app.bsky.feed.post/3bbb": {"text": SECRET},
}
X = [tweet(1, SECRET), tweet(2, f"RT @{SECRET}: x"), tweet(3, SECRET, created_at=SECRET), {"id_str": SECRET}]


@pytest.mark.parametrize(
    ("content", "kind", "lines"),
    [
        (mastodon(), "posts", [
            "program: Mastodon, or a program with its files", "files: json: 3", "files: others: 1", "files: png: 1",
            "likes: 1", "pictures: 1", "posts: 2", "posts with a language: 1", "posts with a poll: 1",
            "posts with a reply: 1", "posts with a warning: 1", "refused: 8", "  fields: 4", "  picture_missing: 1",
            "  private_message: 1", "  boost: 1", "  date: 1", "  AttributeError in parse_activity, line N: 1",
            "  LineRefused in parse_activity, line N: 1", "  KeyError in parse_activity, line N: 1",
            "  TypeError in parse_activity, line N: 1",
        ]),
        (x_archive(X), "posts", [
            "program: X", "files: js: 1", "posts: 1", "refused: 3", "  boost: 1", "  date: 1", "  fields: 1",
            "  LineRefused in parse_tweet, line N: 1",
        ]),
        (car(BLUESKY), "posts", [
            "program: Bluesky", "posts: 1", "posts with a language: 1", "refused: 1", "  fields: 1",
            "  KeyError in _parse, line N: 1",
        ]),
        (f"{SECRET}@{SECRET}.example,false\n{SECRET}\n".encode(), "following", [
            "program: list (following)", "rows: 2", "rows with a host: 1", "rows without boosts: 1", "refused: 0",
        ]),
    ],
)  # fmt: skip
def test_a_trial_counts_by_kind_and_reason_and_prints_nothing_of_the_file(
    tmp_path: Path, content: bytes, kind: str, lines: list[str]
) -> None:
    file = tmp_path / "archive"
    file.write_bytes(content)
    said = run_command("try_import", file, "--content", kind)
    assert SECRET not in said
    assert sorted(_without_numbers_of_code(said)) == sorted(lines)


def _without_numbers_of_code(said: str) -> list[str]:
    return [f"{line.partition(', line ')[0]}, line N: 1" if ", line " in line else line for line in said.splitlines()]


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"{}", "unknown_format"), (zipped({SECRET: ""}), "unknown_format"), (mastodon()[:300], "unreadable")],
)
def test_a_trial_names_the_reason_why_a_file_is_unreadable(tmp_path: Path, content: bytes, reason: str) -> None:
    file = tmp_path / "archive"
    file.write_bytes(content)
    with pytest.raises(CommandError, match=reason) as raised:
        run_command("try_import", file)
    assert SECRET not in str(raised.value)
    with file.open("wb") as large:
        large.truncate(CSV_MAX_BYTES + 1)  # one row without an end would be read whole
    with pytest.raises(CommandError, match="too_large"):
        run_command("try_import", file, "--content", "following")
    with pytest.raises(CommandError, match="No such file"):
        run_command("try_import", tmp_path / "absent")


def test_a_trial_reads_every_post_of_a_public_account(tmp_path: Path) -> None:
    rows = list(read_posts("whitehouse-flotus"))
    tweets = [
        tweet(number, row["text"], created_at=datetime.fromisoformat(row["created_at"]).strftime(TWEET_DATES[0]))
        for number, row in enumerate(rows, 1)
    ]
    file = tmp_path / "archive.zip"
    file.write_bytes(x_archive(tweets))
    reposts = sum(row["text"].startswith("RT @") for row in rows)
    said = run_command("try_import", file)
    assert f"posts: {len(rows) - reposts}\n" in said
    assert f"refused: {reposts}\n" in said
