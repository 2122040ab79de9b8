"""Make the files of the demo: `python -m tests.support.demo_build DATA`. DATA contains the sources listed in NOTICE.

The texts are real. A seeded draw makes up who writes them and when: it replaces the pseudonyms of the sources, keeps
threads together, and spreads the posts over twelve days, more of them towards the end. The same sources give the same
files.
"""

import gzip
import html
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

FILES = Path(__file__).parents[2] / "timelines" / "demo"
QUOTES = Path(__file__).parents[1] / "data" / "demo_quotes.txt"
GRAPH_FILE = "twitter-followers-verizoncareers.tsv.gz"
SEED_NODES = 25
FOLLOWED_BY_LOGINS = 36
FOLLOWERS_OF_LOGINS = 18

Follow = tuple[str, str]
NEWEST_POST_TIME = datetime(2026, 11, 1, 12, tzinfo=UTC)
SPAN_MINUTES = 12 * 24 * 60
OLDER_LANGUAGES = ("ko", "th")
"""The newest posts of the demo are not in them: they are a third of all posts, and few people read both."""
OLDER_BY = timedelta(days=1)
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
    r"release notes|FastAPI People|sponsor|Bump|Merge|Update github|translation|pre-commit|Upgrade", re.IGNORECASE
)
PSEUDONYM_PATTERN = re.compile(r"@?\bubu_[0-9a-f]{8}\b[:,]?\s*")

Row = dict[str, Any]
Conversation = list[Row]
"""A thread, or a single post: rows with id, author, text, in_reply_to, lang, source."""


class Person(NamedTuple):
    handle: str
    display_name: str
    language: str
    bio: str = ""


class _LoginAccounts(NamedTuple):
    """The accounts to log in with, and their posts: (handle, minutes before the newest post, text, number of the
    parent)."""

    people: tuple[Person, ...]
    posts: tuple[tuple[str, int, str, int | None], ...]


COLOURS: Final = {
    "amber": ("Amber", "호박빛", "สีอำพัน"), "blue": ("Blue", "푸른", "สีฟ้า"),
    "green": ("Green", "초록", "สีเขียว"), "red": ("Red", "빨간", "สีแดง"),
    "white": ("White", "하얀", "สีขาว"), "black": ("Black", "검은", "สีดำ"),
    "little": ("Little", "작은", "น้อย"), "big": ("Big", "큰", "ใหญ่"),
    "quiet": ("Quiet", "조용한", "เงียบ"), "swift": ("Swift", "빠른", "ว่องไว"),
}  # fmt: skip
CREATURES: Final = {
    "whale": ("Whale", "고래", "วาฬ"), "fox": ("Fox", "여우", "จิ้งจอก"),
    "cat": ("Cat", "고양이", "แมว"), "bird": ("Bird", "새", "นก"),
    "elephant": ("Elephant", "코끼리", "ช้าง"), "tiger": ("Tiger", "호랑이", "เสือ"),
    "star": ("Star", "별", "ดาว"), "cloud": ("Cloud", "구름", "เมฆ"),
    "river": ("River", "강", "แม่น้ำ"), "mountain": ("Mountain", "산", "ภูเขา"),
    "moon": ("Moon", "달", "พระจันทร์"), "flower": ("Flower", "꽃", "ดอกไม้"),
}  # fmt: skip

LOGIN_ACCOUNTS: Final = _LoginAccounts(
    people=(
        Person("alice", "Alice", "en", "A demo account: log in and try everything."),
        Person("bob", "Bob", "en", "A demo account. Reads poems, fixes computers."),
        Person("carol", "Carol", "en", "A demo account. Movies, food, travels."),
    ),
    posts=(
        ("carol", 310, "Reading film reviews in Korean and food posts in Thai today. #languages", None),
        ("bob", 150, "Everything @alice and I post here lives in Redis. No other database. #redis", None),
        ("alice", 45, "Open this page in two windows, post in one, and watch the other. #live", None),
        ("alice", 34, "Which book should everybody read once? #books", None),
        ("bob", 29, "Gödel, Escher, Bach. Slowly, with a pencil. #books", 3),
        ("carol", 26, "The Summer Book by Tove Jansson, on an island if you have one. #books", 3),
        ("bob", 20, "@alice it came before I had counted to one.", 2),
        ("alice", 14, "Every July since I was nine. It grows each time.", 5),
        ("carol", 8, "A good evening for haiku: @basho, @issa and @buson are all here. #poetry", None),
        ("alice", 0, "Welcome! Log in as alice, bob or carol and look around. ✨", None),
    ),
)


def invent_people(kind: str, count: int, draw: Random) -> list[Person]:
    """Invent people of a language. Each name is unique in the demo, because handles end with the kind."""
    pairs = [(colour, creature) for colour in COLOURS for creature in CREATURES]
    column = {"ko": 1, "th": 2}.get(kind, 0)
    people = []
    for colour, creature in draw.sample(pairs, count):
        words = [COLOURS[colour][column], CREATURES[creature][column]]
        display_name = "".join(reversed(words)) if kind == "th" else " ".join(words)
        ending = "" if kind == "en" else f"_{kind}"
        people.append(Person(f"{colour}_{creature}{ending}", display_name, "en" if kind == "dev" else kind))
    return people


def read_poets(file: Path) -> list[Person]:
    heads = (line.split(" ", 3) for line in file.read_text("utf-8").splitlines() if line.startswith("="))
    return [Person(handle, name, language) for _, handle, language, name in heads]


def read_rows(data: Path, name: str) -> Iterator[Row]:
    with gzip.open(data / "posts" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def draw_conversations(data: Path, draw: Random, people: list[Person]) -> Iterator[Conversation]:
    """Draw conversations of 3 to 9 posts from the Ubuntu channels. In one of them, a pseudonym is one person."""
    roots: dict[str, Conversation] = {}
    root_of: dict[str, str] = {}
    for row in read_rows(data, "ubuntu-irc"):
        own_id: str = row["id"]
        root = root_of.get(row["in_reply_to"] or "", own_id)
        root_of[own_id] = root
        roots.setdefault(root, []).append(row)
    suitable_units = [unit for unit in roots.values() if 3 <= len(unit) <= 9 and all(map(_is_suitable, unit))]
    weights = [1 / (place + 3) for place in range(len(people))]
    for unit in draw.sample(suitable_units, len(suitable_units)):
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

    return {**row, "author": cast[row["author"]], "text": PSEUDONYM_PATTERN.sub(renamed, row["text"]).strip(" ,:")}


def draw_single_posts(rows: list[Row], draw: Random, people: list[Person], count: int) -> Iterator[Conversation]:
    """Draw single posts: a few people write many of them, most people write few."""
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
    for line in QUOTES.read_text("utf-8").splitlines():
        if line.startswith("="):
            _, author, language, _ = line.split(" ", 3)
        elif not line.startswith("#"):
            yield [{"author": author, "lang": language, "text": line.replace(" / ", "\n"), "source": "quotes"}]


def assign_times(units: list[Conversation], draw: Random) -> list[Row]:
    """Give rows ids and times: conversations spread over twelve days, replies minutes after their parents."""
    rows: list[Row] = []
    for unit in units:
        at = NEWEST_POST_TIME - timedelta(minutes=12 + SPAN_MINUTES * draw.random() ** 1.8 + 10 * len(unit))
        if unit[0]["lang"] in OLDER_LANGUAGES:
            at -= OLDER_BY
        ids: dict[str, str] = {}
        for row in unit:
            ids[row.get("id", "")] = row_id = f"demo-{len(rows)}"
            rows.append(_output_row(row, row_id, at, ids.get(row.get("in_reply_to") or "")))
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


def build_follows(data: Path, people: list[Person], rows: list[dict[str, Any]], draw: Random) -> list[str]:
    """Return sorted lines `follower<TAB>followed`, from a part of a real graph."""
    logins = {person.handle for person in LOGIN_ACCOUNTS.people}
    post_counts = Counter(row["author"] for row in rows)
    others = sorted(
        (p.handle for p in people if p.handle not in logins), key=lambda handle: (-post_counts[handle], handle)
    )
    follows = _assign_handles(_sample_edges(data, len(others), draw), others)
    follows |= _login_follows(sorted(logins), others, draw)
    return [f"{follower}\t{followed}" for follower, followed in sorted(follows)]


def _sample_edges(data: Path, size: int, draw: Random) -> set[tuple[str, str]]:
    """Return edges among `size` nodes, grown from the most followed ones. In the file, target follows source."""
    following: dict[str, set[str]] = {}
    with gzip.open(data / "graphs" / GRAPH_FILE, "rt") as lines:
        for line in lines:
            if not line.startswith("#"):
                followed, follower = line.split()
                following.setdefault(follower, set()).add(followed)
    followers = Counter(followed for followed_nodes in following.values() for followed in followed_nodes)
    nodes = set(sorted(followers, key=lambda node: (-followers[node], node))[:SEED_NODES])
    ties = {
        node: len(followed_nodes & nodes) for node, followed_nodes in sorted(following.items()) if node not in nodes
    }
    likely = sorted(ties, key=lambda node: (-ties[node], node))[: 6 * size]
    nodes |= set(draw.sample(likely, size - len(nodes)))
    return {(node, other) for node in nodes for other in following.get(node, set()) & nodes}


def _assign_handles(edges: set[tuple[str, str]], handles: list[str]) -> set[Follow]:
    """Give the most followed node the handle of the most active person, and so on."""
    followers = Counter(followed for _, followed in edges)
    nodes = sorted({node for edge in edges for node in edge}, key=lambda node: (-followers[node], node))
    handle_of = dict(zip(nodes, handles, strict=False))
    return {(handle_of[a], handle_of[b]) for a, b in edges if a in handle_of and b in handle_of and a != b}


def _login_follows(logins: list[str], others: list[str], draw: Random) -> set[Follow]:
    """Return the follows of the accounts to log in with: each other, the leaders, and people of every language."""
    follows = {(one, other) for one in logins for other in logins if one != other}
    for login in logins:
        followed = {*others[:8], *draw.sample(others[8:], FOLLOWED_BY_LOGINS - 8)}
        follows |= {(login, handle) for handle in followed}
        follows |= {(handle, login) for handle in draw.sample(others, FOLLOWERS_OF_LOGINS)}
    return follows


def write_gzip(file: Path, lines: list[str]) -> None:
    """Compress without a time stamp, so that the same content gives the same file."""
    file.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode(), 9, mtime=0))


def build(data: Path, into: Path = FILES) -> None:
    draw = Random("demo")
    english, developers, korean, thai = (
        invent_people(kind, PERSON_COUNTS[kind], draw) for kind in ("en", "dev", "ko", "th")
    )
    units: list[Conversation] = list(read_quotes())
    posts_left = POST_COUNTS["irc"]
    for unit in draw_conversations(data, draw, english):
        if posts_left <= 0:
            break
        posts_left -= len(unit)
        units.append(unit)
    flotus = [Person("flotus", "The First Lady (archive)", "en")]
    units += draw_single_posts(read_commits(data), draw, developers, POST_COUNTS["commits"])
    units += draw_single_posts(read_flotus_posts(data), draw, flotus, POST_COUNTS["flotus"])
    units += draw_single_posts(read_friendly_rows(data, "nsmc-korean", "ko"), draw, korean, POST_COUNTS["ko"])
    units += draw_single_posts(read_friendly_rows(data, "wisesight-thai", "th"), draw, thai, POST_COUNTS["th"])
    rows = sorted(assign_times(units, draw), key=lambda row: (row["created_at"], row["id"]))
    people = [*flotus, *read_poets(QUOTES), *english, *developers, *korean, *thai, *LOGIN_ACCOUNTS.people]
    write_gzip(into / "posts.jsonl.gz", [json.dumps(row, ensure_ascii=False) for row in rows])
    write_gzip(into / "accounts.jsonl.gz", [json.dumps(person._asdict(), ensure_ascii=False) for person in people])
    write_gzip(into / "graph.tsv.gz", build_follows(data, people, rows, draw))


if __name__ == "__main__":
    build(Path(sys.argv[1]))
