"""Compare the JSON of the site's own addresses with its declaration, the tables of docs/reference/interface.md."""

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import httpx
from django.urls import Resolver404, resolve

from socialsite.web.requests import is_api_path
from tests.support.routes import PACKAGES, routes

INTERFACE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "interface.md"
ELSEWHERE = ("/oauth/", "/nodeinfo/", "/.well-known/")
"""Prefixes of the addresses whose JSON belongs to the client API or to a standard."""
RESPONDERS = {"json_response", "respond", "done"}
OF_ERRORS = {"error_response", "respond_to_error"}
ERROR_MEMBERS = {"error", "message", "fields"}


class UndeclaredJson(AssertionError):
    """An address answers JSON, or members of it, that docs/reference/interface.md does not declare."""


class OwnJson(NamedTuple):
    """The members of an answer, and the addresses that answer it to GET and to POST.

    A name with "?" may be absent, "…" stands for further members, and a capital begins one of the ENTITIES.
    """

    members: str
    get: str = ""
    post: str = ""


def read_rows(header: str) -> list[list[str]]:
    """Return the cells of the table of interface.md with this header, without commas and marks of code."""
    table = INTERFACE.read_text().partition(f"\n| {header} |\n")[2].partition("\n\n")[0]
    return [[re.sub("[`,]", "", cell).strip() for cell in row.split("|")[1:-1]] for row in table.splitlines()[1:]]


ENTITIES = dict(read_rows("object | members"))
OWN_JSON = [
    OwnJson(members.replace("{}", ""), *addresses) for members, *addresses in read_rows("answer | to GET | to POST")
]


def bare(address: str) -> str:
    """Return an address without the names of its variable parts."""
    return re.sub("<[^>]*>", "<>", address)


def describes(declared: OwnJson, members: set[str]) -> bool:
    """Return whether an answer with these members is declared."""
    names = " ".join(ENTITIES.get(each, each) for each in declared.members.split()).split()
    known = {name.removesuffix("?") for name in names}
    required = {name for name in names if name[-1] not in "?…"}
    return required <= members and ("…" in known or members <= known)


def find_declared(method: str, address: str) -> list[OwnJson]:
    """Return the declarations of the answers to GET or POST at an address."""
    return [
        each for each in OWN_JSON
        if bare(address) in map(bare, (each.get if method == "GET" else each.post).split())
    ]  # fmt: skip


def declared_addresses() -> set[tuple[str, str]]:
    """Return the methods and addresses that are declared to answer JSON."""
    pairs = (("GET", each.get) for each in OWN_JSON), (("POST", each.post) for each in OWN_JSON)
    return {(method, bare(address)) for group in pairs for method, text in group for address in text.split()}


def answering_addresses() -> set[tuple[str, str]]:
    """Return the methods and addresses whose views answer JSON, as their source says."""
    return {
        (method, bare(route.pattern))
        for route in routes()
        if not route.pattern.startswith(ELSEWHERE)
        for method, view in route.views.items()
        if method != "HEAD" and _answers_json(inspect.unwrap(view))
    }


@cache
def _answers_json(function: Callable[..., Any], depth: int = 4) -> bool:
    """Return whether a function calls one of RESPONDERS, or a function of the site that does."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    space = vars(sys.modules[function.__module__])
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)):
                called = space.get(name)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=name)):
                called = getattr(space.get(owner), name, None)
            case _:
                continue
        is_own = inspect.isfunction(called) and called.__module__.startswith((*PACKAGES, "socialsite.web."))
        if name in RESPONDERS or (is_own and depth and name not in OF_ERRORS and _follow(called, depth)):
            return True
    return False


def _follow(called: Any, depth: int) -> bool:
    return _answers_json(inspect.unwrap(called), depth - 1)


async def check_own_json(response: httpx.Response) -> None:
    """Raise UndeclaredJson if the response has JSON that is not declared. The client of the tests calls it."""
    request = response.request
    if request.method == "HEAD":
        return  # it has no body
    if not response.headers.get("Content-Type", "").startswith("application/json"):
        return
    if is_api_path(path := request.url.path) or path.startswith(ELSEWHERE) or response.status_code == 503:
        return
    await response.aread()
    members = set(response.json())
    try:
        address = f"/{resolve(path).route}"
    except Resolver404:
        address = path
    if response.is_error and members == ERROR_MEMBERS:
        return
    if not any(describes(each, members) for each in find_declared(request.method, address)):
        raise UndeclaredJson(f"{request.method} {address}: {' '.join(sorted(members))}")
