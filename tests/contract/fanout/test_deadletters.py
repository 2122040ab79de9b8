"""Dead letters: listed, retried and dropped, each alone or all together."""

import pytest
from django.core.management import CommandError

from socialsite.container import Services
from socialsite.ids import AccountId
from socialsite.recipes.job import Job
from tests.support import management as commands
from tests.support.management import run_with_services
from tests.support.world import World
from timelines.jobs import PurgeAccount, encode_job


@pytest.fixture(autouse=True)
def dead(here: None) -> None:
    run_with_services(three_dead)


async def three_dead(services: Services) -> None:
    """Add three dead letters: a post, a sweep and an undecodable job."""
    bob = await World(services).person("bob")
    await bob.publishes("a secret thought")
    await services.outbox.add(encode_job(PurgeAccount(bob.id)))
    await services.outbox.add(b"rubbish")
    await services.outbox.create_group()
    for job in await services.outbox.fetch("abad1dea", 10, 10):
        await services.outbox.move_to_dead_letters(Job(job.id, job.payload, 5), "OSError: no disk")


async def depth(services: Services) -> tuple[int, int]:
    depth = await services.outbox.read_depth()
    return depth.waiting, depth.dead


def run(*words: str, **options: object) -> str:
    return commands.run_command("deadletters", *words, **options)


def ids() -> list[str]:
    return [line.split()[0] for line in run().splitlines()[:-1]]


def test_dead_letters_are_listed_newest_first_without_text_of_posts() -> None:
    newest, sweep, post, count = run("list").splitlines()
    assert "unknown job, 5 tries: OSError: no disk" in newest
    assert "sweep of account 1" in sweep
    assert "post " in post
    assert "secret" not in post
    assert count == "3 dead letters."
    assert run("--limit", "1").endswith("There are more: --limit.\n")


def test_one_dead_letter_is_retried_and_another_is_dropped() -> None:
    rubbish, sweep, _ = ids()
    assert run("retry", sweep) == "1 dead letters retried.\n"
    assert run("drop", rubbish) == "1 dead letters dropped.\n"
    assert run_with_services(depth) == (1, 1)


def test_all_dead_letters_are_retried() -> None:
    assert run("retry", "--all", "--dry-run") == "3 dead letters would be retried.\n"
    assert run_with_services(depth) == (0, 3)
    assert run("retry", "--all") == "3 dead letters retried.\n"
    assert run_with_services(depth) == (3, 0)
    assert run("drop", "--all") == "0 dead letters dropped.\n"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["retry"], "Name the dead letters"),
        (["drop", "5-1", "--all"], "Name the dead letters"),
        (["drop", "five"], "five is not the id"),
        (["retry", "5-1"], "There is no dead letter 5-1"),
    ],
)
def test_an_error_is_one_line(words: list[str], complaint: str) -> None:
    with pytest.raises(CommandError, match=complaint):
        run(*words)


async def one_dead_picture(services: Services) -> None:
    queue = services.background_queues["media"].queue
    await queue.create_group()
    await queue.add(encode_job(PurgeAccount(AccountId(7))))
    (job,) = await queue.fetch("abad1dea", 1, 10)
    await queue.move_to_dead_letters(job, "OSError: no disk")


async def picture_depth(services: Services) -> tuple[int, int]:
    depth = await services.background_queues["media"].queue.read_depth()
    return depth.waiting, depth.dead


def test_dead_letters_of_another_queue_are_listed_and_retried() -> None:
    run_with_services(one_dead_picture)
    *outbox, picture, count = run("list").splitlines()
    assert (len(outbox), count) == (3, "4 dead letters.")
    assert "picture of account 7, " in picture
    assert run("list", "--queue", "mail") == "0 dead letters.\n"
    assert run("retry", "--all", "--queue", "media") == "1 dead letters retried.\n"
    assert run_with_services(picture_depth) == (1, 0)
    assert run_with_services(depth) == (0, 3)
