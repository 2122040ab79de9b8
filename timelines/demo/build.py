"""Makes the demo's files: `python -m timelines.demo.build DATA`, DATA holding the sources named in NOTICE.

Texts are real; who says them and when is made up by a seeded draw: the sources' own pseudonyms are replaced,
threads kept together, and the whole is spread over twelve days, denser towards the end. The same sources give
the same files.
"""

import gzip
import html
import json
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from timelines.demo.people import LOGIN_ACCOUNTS, Person, invent_people, read_poets
from timelines.demo.shape import build_follows

DEMO_DIR = Path(__file__).parent
NEWEST_POST_TIME = datetime(2026, 11, 1, 12, tzinfo=UTC)
SPAN_MINUTES = 12 * 24 * 60
POST_COUNTS = {"irc": 950, "commits": 240, "flotus": 200, "ko": 520, "th": 470}
PERSON_COUNTS = {"en": 60, "dev": 14, "ko": 48, "th": 44}

RUDE_PATTERNS = {
    "en": re.compile(r"\b(fuck|shit|damn|crap|ass|bitch|sex|porn|idiot|stupid|suck|hell|kill|gay)\w*", re.IGNORECASE),
    "ko": re.compile(r"섹스|야한|씨발|시발|병신|개새|쓰레기|새끼|지랄|미친|창녀|죽|노출|최악|OOO|ㅅㅂ|ㅄ|정치|일베|좌"),
    "th": re.compile(r"กู|มึง|เหี้ย|สัส|ควย|แม่ง|ตาย|เบียร์|เหล้า|โรค|ป่วย|http|@|\d{4}"),
}
FRIENDLY_PATTERNS = {
    "ko": re.compile(r"재미|재밌|감동|최고|좋|아름|명작|추천|따뜻"),
    "th": re.compile(r"ครับ|ค่ะ|อร่อย|สวย|น่ารัก|ขอบคุณ|ชอบ|สนุก"),
}
BORING_COMMIT_PATTERN = re.compile(
    r"release notes|FastAPI People|sponsor|Bump|Merge|Update github|translation|pre-commit|Upgrade",
    re.IGNORECASE,
)
PSEUDONYM_PATTERN = re.compile(r"@?\bubu_[0-9a-f]{8}\b[:,]?\s*")

Row = dict[str, Any]
Conversation = list[Row]
"""A thread, or a single post: rows with id, author, text, in_reply_to, lang, source."""


def read_rows(data: Path, name: str) -> Iterator[Row]:
    with gzip.open(data / "posts" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def draw_conversations(data: Path, draw: Random, people: list[Person]) -> Iterator[Conversation]:
    """Conversations of 3 to 9 posts from the Ubuntu channels; within one, a pseudonym is one person."""
    roots: dict[str, Conversation] = {}
    root_of: dict[str, str] = {}
    for row in read_rows(data, "ubuntu-irc"):
        own_id: str = row["id"]
        root = root_of.get(row["in_reply_to"] or "", own_id)
        root_of[own_id] = root
        roots.setdefault(root, []).append(row)
    found = [unit for unit in roots.values() if 3 <= len(unit) <= 9 and all(map(_is_suitable, unit))]
    weights = [1 / (place + 3) for place in range(len(people))]
    for unit in draw.sample(found, len(found)):
        cast: dict[str, str] = {}
        for row in unit:
            while row["author"] not in cast:
                (person,) = draw.choices(people, weights)
                if person.handle not in cast.values():
                    cast[row["author"]] = person.handle
        yield [_reassign_authors(row, cast) for row in unit]


def _is_suitable(row: Row) -> bool:
    text = row["text"]
    return 12 <= len(text) <= 400 and not RUDE_PATTERNS["en"].search(text) and "#" not in text and "http" not in text


def _reassign_authors(row: Row, cast: dict[str, str]) -> Row:
    def renamed(match: re.Match[str]) -> str:
        handle = cast.get(match[0].strip("@:, "))
        return f"@{handle} " if handle else ""

    return {
        **row,
        "author": cast[row["author"]],
        "text": PSEUDONYM_PATTERN.sub(renamed, row["text"]).strip(" ,:"),
    }


def draw_single_posts(rows: list[Row], draw: Random, people: list[Person], count: int) -> Iterator[Conversation]:
    """Posts that stand alone, by people of whom some say much and most little."""
    weights = [1 / (place + 2) for place in range(len(people))]
    for row in draw.sample(rows, count):
        (person,) = draw.choices(people, weights)
        yield [{**row, "author": person.handle, "in_reply_to": None}]


def read_friendly_rows(data: Path, name: str, language: str) -> list[Row]:
    rows = (row for row in read_rows(data, name) if 18 <= len(row["text"]) <= 220)
    kind, rude = FRIENDLY_PATTERNS[language], RUDE_PATTERNS[language]
    return [row for row in rows if kind.search(row["text"]) and not rude.search(row["text"])]


def read_commits(data: Path) -> list[Row]:
    rows = {row["text"]: row for row in read_rows(data, "commit-subjects") if row["source"] == "git:tiangolo/fastapi"}
    return [
        row
        for text, row in rows.items()
        if len(text) >= 30 and "@" not in text and not BORING_COMMIT_PATTERN.search(text)
    ]


def read_flotus_posts(data: Path) -> list[Row]:
    rows = ({**row, "text": html.unescape(row["text"])} for row in read_rows(data, "whitehouse-flotus"))
    return [row for row in rows if "#" in row["text"] and "http" not in row["text"] and not row["in_reply_to"]]


def read_quotes() -> Iterator[Conversation]:
    author, language = "", ""
    for line in (DEMO_DIR / "quotes.txt").read_text("utf-8").splitlines():
        if line.startswith("="):
            _, author, language, _ = line.split(" ", 3)
        elif not line.startswith("#"):
            yield [{"author": author, "lang": language, "text": line.replace(" / ", "\n"), "source": "quotes"}]


def assign_times(units: list[Conversation], draw: Random) -> list[Row]:
    """Rows with ids and times: the oldest unit twelve days before the newest, answers minutes after."""
    rows: list[Row] = []
    for unit in units:
        at = NEWEST_POST_TIME - timedelta(minutes=12 + SPAN_MINUTES * draw.random() ** 1.8 + 10 * len(unit))
        ids: dict[str, str] = {}
        for row in unit:
            ids[row.get("id", "")] = row_id = f"demo-{len(rows)}"
            parent = ids.get(row.get("in_reply_to") or "")
            rows.append(_output_row(row, row_id, at, parent))
            at += timedelta(seconds=draw.randrange(40, 500))
    return rows + list(_login_rows())


def _login_rows() -> Iterator[Row]:
    for number, (handle, minutes, text, answers) in enumerate(LOGIN_ACCOUNTS.posts):
        row = {"author": handle, "lang": "en", "text": text, "source": "project"}
        above = None if answers is None else f"demo-login-{answers}"
        yield _output_row(row, f"demo-login-{number}", NEWEST_POST_TIME - timedelta(minutes=minutes), above)


def _output_row(row: Row, row_id: str, at: datetime, parent: str | None) -> Row:
    return {
        "id": row_id,
        "author": row["author"],
        "created_at": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "lang": row["lang"],
        "text": row["text"],
        "in_reply_to": parent,
        "source": row["source"],
    }


def write_gzip(file: Path, lines: list[str]) -> None:
    """Compressed without the time of day, so that the same content is the same file."""
    payload = "".join(f"{line}\n" for line in lines).encode()
    file.write_bytes(gzip.compress(payload, 9, mtime=0))


def build(data: Path, into: Path = DEMO_DIR) -> None:
    draw = Random("demo")  # noqa: S311  a repeatable draw is the point
    english, developers, korean, thai = (
        invent_people(kind, PERSON_COUNTS[kind], draw) for kind in ("en", "dev", "ko", "th")
    )
    units: list[Conversation] = list(read_quotes())
    wanted = POST_COUNTS["irc"]
    for unit in draw_conversations(data, draw, english):
        if wanted <= 0:
            break
        wanted -= len(unit)
        units.append(unit)
    flotus = [Person("flotus", "The First Lady (archive)", "en")]
    units += draw_single_posts(read_commits(data), draw, developers, POST_COUNTS["commits"])
    units += draw_single_posts(read_flotus_posts(data), draw, flotus, POST_COUNTS["flotus"])
    units += draw_single_posts(read_friendly_rows(data, "nsmc-korean", "ko"), draw, korean, POST_COUNTS["ko"])
    units += draw_single_posts(read_friendly_rows(data, "wisesight-thai", "th"), draw, thai, POST_COUNTS["th"])
    rows = sorted(assign_times(units, draw), key=lambda row: (row["created_at"], row["id"]))
    people = [
        *flotus,
        *read_poets(DEMO_DIR / "quotes.txt"),
        *english,
        *developers,
        *korean,
        *thai,
        *LOGIN_ACCOUNTS.people,
    ]
    write_gzip(into / "posts.jsonl.gz", [json.dumps(row, ensure_ascii=False) for row in rows])
    write_gzip(into / "accounts.jsonl.gz", [json.dumps(person._asdict(), ensure_ascii=False) for person in people])
    write_gzip(into / "graph.tsv.gz", build_follows(data, people, rows, draw))


if __name__ == "__main__":
    build(Path(sys.argv[1]))
