"""Who stands in the demo: made-up names for those whom the sources keep anonymous, poets under their own."""

from pathlib import Path
from random import Random
from typing import Final, NamedTuple


class Person(NamedTuple):
    handle: str
    display_name: str
    language: str
    bio: str = ""


class _LoginAccounts(NamedTuple):
    """The accounts to log in with, and what they say: (handle, minutes before the newest, text,
    number of the post that it answers)."""

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
    """Invented people of a language, each name once in the whole demo: the kind ends the handle."""
    pairs = [(colour, creature) for colour in COLOURS for creature in CREATURES]
    column = {"ko": 1, "th": 2}.get(kind, 0)
    people = []
    for colour, creature in draw.sample(pairs, count):
        words = [COLOURS[colour][column], CREATURES[creature][column]]
        shown = "".join(reversed(words)) if kind == "th" else " ".join(words)
        ending = "" if kind == "en" else f"_{kind}"
        people.append(Person(f"{colour}_{creature}{ending}", shown, "en" if kind == "dev" else kind))
    return people


def read_poets(file: Path) -> list[Person]:
    heads = (line.split(" ", 3) for line in file.read_text("utf-8").splitlines() if line.startswith("="))
    return [Person(handle, name, language) for _, handle, language, name in heads]
