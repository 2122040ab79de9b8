"""Lists of accounts as spreadsheets and other programs save them."""

from typing import Any

import pytest

from socialsite.container import Services
from tests.contract.importing.test_foreign_archives import tarred
from tests.contract.importing.test_import_archives import note
from tests.contract.importing.test_imports_by_people import mastodon
from tests.support.imports import import_file, start_import
from tests.support.world import World
from timelines.graph.follow import Relationship

FOLLOWING = "Account address,Show boosts,Notify on new posts,Languages\r\nbob,FALSE,false,\r\ncarol,TRUE,true,\r\n"
SEMICOLONS = FOLLOWING.replace(",", ";")


@pytest.mark.parametrize(
    "file",
    [
        SEMICOLONS.encode(), SEMICOLONS.encode("utf-8-sig"), FOLLOWING.replace(",", "\t").encode("utf-16"),
        b"\xfe\xff" + FOLLOWING.encode("utf-16-be"), f"sep=;\r\n{SEMICOLONS}".encode(),
        SEMICOLONS.replace("FALSE", "FALSCH").encode("cp1252"), FOLLOWING.replace("\r\n", "\r").encode(),
        b"Show boosts,Account address\nfalse,@bob@SITE.example\ntrue,acct:carol@site.example\n",
        f"\r\n \r\n\r\n{SEMICOLONS}".encode("utf-8-sig"), f";;;\n;;;\n;;;\n{SEMICOLONS}".encode(),
        b'"bob";"false"\n"carol"\n', b"bob@site.example,false\ncarol@site.example,withReplies=true\n",
    ],
)  # fmt: skip
async def test_a_list_is_read_as_spreadsheets_save_it(services: Services, world: World, file: bytes) -> None:
    alice, bob, carol = await world.people("alice", "bob", "carol")
    done = await import_file(services, alice.id, file, "following")
    assert (done.state, done.counts, done.refused) == ("done", {"accounts": 2}, {})
    assert await services.repositories.blocks_and_mutes.hidden_boosts_among(alice.id, [bob.id, carol.id]) == {bob.id}


@pytest.mark.parametrize(
    "file",
    [
        "Fußball; nah,bob\nFußball; nah,carol\n".encode("cp1252"), 'list name;address\n"Fußball; nah";bob\n'.encode(),
        "List name,Account address\nFußball; nah,bob\n".encode(),
        "Account address,List name\nbob,Fußball; nah\n".encode(),
    ],
)  # fmt: skip
async def test_the_title_of_a_list_keeps_its_letters_and_signs(services: Services, world: World, file: bytes) -> None:
    alice, _, _ = await world.people("alice", "bob", "carol")
    await import_file(services, alice.id, file, "lists")
    assert [each.title for each in await services.lists.all_lists(alice.id)] == ["Fußball; nah"]


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (FOLLOWING.encode(), "blocked"), (FOLLOWING.encode(), "muted"), (FOLLOWING.encode(), "posts"),
        (b"Account address,Hide notifications\nbob,true\n", "following"), (mastodon(note(1)), "following"),
        (tarred({"outbox.json": b"{}"}), "blocked"), (b'{"error": "InvalidRequest"}', "posts"),
    ],
)  # fmt: skip
async def test_a_file_of_another_kind_changes_nothing(
    services: Services, world: World, content: bytes, kind: Any
) -> None:
    alice, bob, _ = await world.people("alice", "bob", "carol")
    read = await start_import(services, alice.id, content, kind)
    assert (read.state, read.error) == ("failed", "unknown_format")
    relation = await services.blocks_and_mutes.relationship(alice.id, bob.id, services.clock.now_ms())
    assert relation == Relationship()


async def test_a_list_with_its_owner_or_with_accounts_twice_imports_the_others(
    services: Services, world: World
) -> None:
    alice, bob, _ = await world.people("alice", "bob", "carol")
    for kind in ("following", "muted", "blocked"):
        done = await import_file(services, alice.id, b'alice\nbob\n"bob"\n,true\n@\nbob@\ncarol,true', kind)
        assert done.state == "done", kind
        assert done.counts["accounts"] == 3, kind
    assert (await services.blocks_and_mutes.relationship(alice.id, bob.id, services.clock.now_ms())).blocks
