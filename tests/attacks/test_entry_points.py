"""Every entry point takes time linear in the size of each text that it reads: four times the text, four times the time.

The addresses are those of the URLconf, their fields those that the views read. The tables name the socket messages and
the commands with the texts that they read; a missing one fails a test.
"""

import contextlib
import json
import time
from itertools import pairwise
from pathlib import Path

import pytest
from channels.testing import WebsocketCommunicator
from django import forms
from django.core.management import CommandError

from accounts import forms as account_forms
from socialsite.asgi import application
from socialsite.container import Services
from socialsite.recipes.rate_limit import Rule
from socialsite.web.requests import FormFields
from tests.support.browser import JSON_HEADERS, HttpBrowser
from tests.support.management import run_command, run_with_services
from tests.support.random_tests import mostly_nightly
from tests.support.routes import routes
from tests.support.staff import open_staff
from tests.support.world import World
from tests.web.conftest import OpenBrowser
from timelines.live import socket_messages

LENGTHS = (2_000, 8_000, 31_000)
"""Code points. 8,000 marks are the largest text that a post may have in bytes, 31,000 nearly fill a body of 64 kB."""
QUERY_LENGTHS = (75, 300, 1_200, 4_800)
BASE_MS = 10.0
"""A shorter time does not show growth, because a page without text takes about as long."""
COMMANDS = Path(account_forms.__file__).parents[1] / "socialsite" / "management" / "commands"

QUERIES = "before cursor date range"
"""Parameters that pages parse in different ways. Each is sent to every page."""
MESSAGES = {
    "subscribe": (
        '{"type":"subscribe","timeline":"tag:TEXT"}',
        '{"type":"subscribe","timeline":"public","after":"TEXT"}',
    ),
    "unsubscribe": ('{"type":"unsubscribe","timeline":"profile:TEXT"}',),
    "watch": ('{"type":"watch","ids":["TEXT"]}', '{"type":"watch","ids":[NUMBERS]}'),
    "": ("TEXT", '{"type":"TEXT"}', "[" * 500 + "TEXT"),
}
"""Messages of a socket by their type; the last ones are refused."""
MESSAGE_BYTES = (850, 3_400)
MESSAGES_PER_MEASUREMENT = 20
COMMAND_LINES: dict[str, tuple[str, ...]] = {
    "archive_posts": ("--older-than TEXT",),
    "audit": (),
    "backup": (),
    "check": (),
    "check_mail": ("TEXT",),
    "create_account": ("TEXT --password ceiling-lamp-7", "carol --password TEXT"),
    "create_token": ("TEXT", "alice --scopes TEXT", "alice --name TEXT"),
    "deadletters": ("retry TEXT", "drop TEXT"),
    "delete_account": ("TEXT --no-input",),
    "disable_factors": ("TEXT",),
    "flush_buffers": (),
    "import_graph": ("FILE", "FILE --handle-prefix TEXT"),
    "import_posts": ("FILE",),
    "limits": ("show TEXT", "reset TEXT", "reset @alice --rule TEXT"),
    "memory": (),
    "quickstart": (),
    "rebuild_timelines": ("TEXT",),
    "repartition": ("--to TEXT",),
    "restore": ("FILE --dry-run",),
    "set_role": ("TEXT owner",),
    "set_password": ("TEXT --password ceiling-lamp-7", "alice --password TEXT"),
    "stats": (),
    "suspend_account": ("TEXT",),
    "syndicate": (),
    "try_import": ("FILE --content following",),
    "trim": (),
}
"""Commands with the arguments that contain text. FILE has a line with the text, or posts with it in each field."""
COMMAND_LENGTHS = (8_000, 31_000)


def marks(length: int) -> str:
    return "a" + "\u0315" * (length // 2) + "\u0300" * (length // 2)


def words(length: int) -> str:
    return "a " * (length // 2)


def digits(length: int) -> str:
    return "9" * length


@pytest.fixture
async def staff(site: Services, open_browser: OpenBrowser) -> HttpBrowser:
    """A staff account may use every address. The addresses name the account with id 7, which exists."""
    site.rules.clear()
    now_ms = site.clock.now_ms()
    for number in range(1, 8):
        await site.accounts.sign_up(handle=f"p{number}", password=None, now_ms=now_ms)
    await site.accounts.sign_up(handle="alice", password=None, now_ms=now_ms)
    browser = await open_staff(site, open_browser)
    await browser.post_json("/accounts/filters/", phrase="word")
    await browser.post_json("/lists/", title="mine")
    return browser


async def milliseconds(browser: HttpBrowser, method: str, path: str, fields: dict[str, str]) -> float:
    headers = {**JSON_HEADERS, "X-CSRFToken": browser.csrf_token}
    began = time.process_time()
    if method == "GET":
        answer = await browser.http.get(path, params=fields, headers=headers)
    else:
        answer = await browser.http.post(path, json=fields, headers=headers)
    assert answer.status_code < 500, (path, answer.status_code)
    return 1000 * (time.process_time() - began)


async def grows_too_fast(browser: HttpBrowser, method: str, path: str, texts: list[dict[str, str]]) -> bool:
    """Compare the fastest of three requests of each size with the size before, unless the largest text is fast anyway.

    The first text is compared with an empty one.
    """
    if await milliseconds(browser, method, path, texts[-1]) <= 4 * BASE_MS:
        return False
    compared = texts if len(texts) > 1 else [{}, *texts]
    times = [min([await milliseconds(browser, method, path, fields) for _ in range(3)]) for fields in compared]
    return any(large > 5 * max(small, BASE_MS) for small, large in pairwise(times))


@pytest.fixture
def read_names(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names that views have looked up in the fields of a body."""
    names: set[str] = set()
    for method in ("get", "__getitem__", "__contains__", "values_of"):
        monkeypatch.setattr(FormFields, method, recording(getattr(FormFields, method), names))
    return names


def recording(read, names: set[str]):
    def record_and_read(fields: FormFields, name: str, *default: object) -> object:
        names.add(name)
        return read(fields, name, *default)

    return record_and_read


@pytest.mark.parametrize("turn", mostly_nightly(range(3), 1))
async def test_the_time_of_every_action_is_linear_in_each_field(
    staff: HttpBrowser, read_names: set[str], turn: int
) -> None:
    """Each field gets another kind of text in each turn. Fields that only a request shows are added to the others."""
    too_slow, number = [], turn
    for route in (route for route in routes() if "POST" in route.methods):
        fields, read_count = [*route.fields, "next"], 0
        read_names.clear()
        while read_count < len(fields):
            field, text = fields[read_count], (marks, words, digits)[number % 3]
            if await grows_too_fast(staff, "POST", route.path, [{field: text(length)} for length in LENGTHS]):
                too_slow.append((route.pattern, field, text))
            fields += sorted(name for name in read_names - {*fields} if not name.startswith("initial-"))
            read_count, number = read_count + 1, number + 1
            if not await staff.is_signed_in():  # after a log-out
                staff.http.cookies.clear()
                assert (await staff.log_in("sam")).status_code == 200
    assert too_slow == []


def test_the_fields_of_actions_are_derived_from_their_views() -> None:
    fields = {route.pattern: {*route.fields} for route in routes()}
    assert {"text", "in_reply_to", "poll[options]", "scheduled_at"} <= fields["/posts/"]
    assert {"handle", "password1", "invitation"} <= fields["/accounts/signup/"]
    assert {"kind", "text", "warning"} <= fields["/ops/accounts/<id:account_id>/act/"]


@pytest.mark.parametrize("text", [marks, words, digits])
@pytest.mark.parametrize("path", ["/search/", "/search/complete/", "/ops/accounts/"])
async def test_the_time_of_a_search_is_linear_in_its_query(staff: HttpBrowser, path: str, text) -> None:
    assert not await grows_too_fast(staff, "GET", path, [{"q": "#" + text(length)} for length in QUERY_LENGTHS])


@pytest.mark.parametrize("text", [marks, digits])
async def test_no_parameter_makes_a_page_slow(staff: HttpBrowser, text) -> None:
    """Compare each page with the same page without parameters. Staff pages and numbers: one test is enough."""
    too_slow = [
        (route.path, name)
        for route in routes()
        if "GET" in route.methods and (text is marks or not route.path.startswith("/ops/"))
        for name in (("before", "cursor") if text is digits else QUERIES.split())
        if await grows_too_fast(staff, "GET", route.path, [{name: text(QUERY_LENGTHS[-1])}])
    ]
    assert too_slow == []


def test_the_table_names_every_socket_message_and_each_has_a_bounded_size() -> None:
    configs = [getattr(each, "__struct_config__", None) for each in vars(socket_messages).values()]
    assert {config.tag for config in configs if config is not None and config.tag} == MESSAGES.keys() - {""}
    assert socket_messages.MAX_MESSAGE_BYTES <= 4_096
    assert max(MESSAGE_BYTES) <= socket_messages.MAX_MESSAGE_BYTES


@pytest.mark.parametrize("text", [marks, words, digits])
async def test_the_time_of_every_socket_message_is_linear_in_its_size(site: Services, text) -> None:
    site.rules["socket"] = Rule("socket", None)
    socket = WebsocketCommunicator(
        application, "/ws/stream/", headers=[(b"origin", b"http://testserver"), (b"host", b"testserver")]
    )
    assert (await socket.connect())[0]

    async def milliseconds_of(template: str, size: int) -> float:
        message = template.replace("TEXT", text(size).encode()[:size].decode(errors="ignore"))
        message = message.replace("NUMBERS", ",".join(["9" * (size // 100)] * 99))
        started = time.process_time()
        for _ in range(MESSAGES_PER_MEASUREMENT):
            await socket.send_to(message)
        await socket.send_to('{"type":"subscribe","timeline":"public"}')
        while json.loads(await socket.receive_from(timeout=20)).get("timeline") != "public":
            pass
        await socket.send_to('{"type":"unsubscribe","timeline":"public"}')
        return 1000 * (time.process_time() - started)

    too_slow = []
    for template in (template for templates in MESSAGES.values() for template in templates):
        times = [min([await milliseconds_of(template, size) for _ in range(3)]) for size in MESSAGE_BYTES]
        if times[1] > 5 * max(times[0], BASE_MS):
            too_slow.append((template, times))
    await socket.disconnect()
    assert too_slow == []


def test_the_table_names_every_command() -> None:
    names = {path.stem for path in COMMANDS.glob("*.py")} - {"__init__"}
    assert names == COMMAND_LINES.keys()


@pytest.mark.parametrize("text", [marks, words])
def test_the_time_of_every_command_is_linear_in_each_text(here: None, tmp_path: Path, text) -> None:
    run_with_services(lambda services: World(services).person("alice"))

    def milliseconds_of(command: str, line: str, length: int) -> float:
        file = tmp_path / f"{command}{length}"
        post = {"id": "1", "author": "Ann", "created_at": "2014-01-01T00:00:00Z", "text": "hello"}
        posts = "\n".join(json.dumps({**post, field: text(length)}) for field in post)
        file.write_text(posts if command == "import_posts" else f"{text(length)}\t{text(length)}\n")
        words_of_line = [text(length) if word == "TEXT" else word.replace("FILE", str(file)) for word in line.split()]
        started = time.process_time()
        with contextlib.suppress(CommandError):
            run_command(command, *words_of_line)
        return 1000 * (time.process_time() - started)

    def is_too_slow(command: str, line: str, repetitions: int) -> bool:
        small, large = (
            min(milliseconds_of(command, line, length) for _ in range(repetitions)) for length in COMMAND_LENGTHS
        )
        return large > 5 * max(small, BASE_MS)

    lines = [(command, line) for command, lines in COMMAND_LINES.items() for line in lines]
    suspects = [(command, line) for command, line in lines if is_too_slow(command, line, 1)]
    assert [(command, line) for command, line in suspects if is_too_slow(command, line, 3)] == []


def test_every_text_field_of_a_form_has_a_maximum_length() -> None:
    """A field with a pattern or with choices is bounded by it."""
    classes = [each for each in vars(account_forms).values() if isinstance(each, type) and issubclass(each, forms.Form)]
    fields = [(form, name, field) for form in classes for name, field in form.base_fields.items()]
    assert len(fields) > 10
    unbounded = [
        (form.__name__, name)
        for form, name, field in fields
        if isinstance(field, forms.CharField) and field.max_length is None and not isinstance(field, forms.RegexField)
    ]
    assert unbounded == []
