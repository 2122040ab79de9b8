"""Jobs that failed too often become dead letters: stored, logged, retried or dropped."""

import pytest
from structlog.testing import capture_logs

from socialsite.recipes.job import Job
from socialsite.recipes.job_queue import JobQueue
from tests.support.queues import ALICE, take_one


async def test_the_fifth_failure_makes_a_job_a_dead_letter(queue: JobQueue) -> None:
    await queue.add(b"poison")
    job: Job | None = await take_one(queue, ALICE)
    waits = []
    while job:
        waits.append(await queue.fail(job, "it hurts"))
        job = await queue.renew_claim(ALICE, job)
    assert waits == [500, 1000, 2000, 4000, None]
    (letter,) = await queue.read_dead_letters(10)
    assert (letter.payload, letter.reason, letter.tries) == (b"poison", "it hurts", 5)
    assert (await queue.read_depth()).is_empty


async def test_a_repeated_move_stores_one_dead_letter(queue: JobQueue) -> None:
    await queue.add(b"poison")
    job = await take_one(queue, ALICE)
    assert await queue.move_to_dead_letters(job, "no")
    assert not await queue.move_to_dead_letters(job, "no")
    assert len(await queue.read_dead_letters(10)) == 1


async def test_a_dead_letter_is_logged_as_an_error(queue: JobQueue) -> None:
    await queue.add(b"secret text")
    job = await take_one(queue, ALICE)
    with capture_logs() as lines:
        await queue.move_to_dead_letters(job, "no")
    (line,) = lines
    assert (line["event"], line["log_level"], line["job"]) == ("dead_letter", "error", job.id)
    assert "secret" not in str(line)


async def test_dead_letters_are_paged_newest_first(queue: JobQueue) -> None:
    for number in range(5):
        await queue.add(b"%d" % number)
        await queue.move_to_dead_letters(await take_one(queue, ALICE), "no")
    first = await queue.read_dead_letters(2)
    second = await queue.read_dead_letters(9, cursor=first[-1].id)
    assert [letter.payload for letter in first + second] == [b"4", b"3", b"2", b"1", b"0"]


async def test_a_dead_letter_can_be_retried(queue: JobQueue) -> None:
    await queue.add(b"cured")
    await queue.move_to_dead_letters(await take_one(queue, ALICE), "no")
    (letter,) = await queue.read_dead_letters(1)
    assert await queue.retry_dead_letter(letter.id)
    assert not await queue.retry_dead_letter(letter.id)
    assert (await take_one(queue, ALICE)).tries == 1
    assert await queue.read_dead_letters(1) == []


async def test_a_dead_letter_can_be_dropped(queue: JobQueue) -> None:
    await queue.add(b"gone")
    await queue.move_to_dead_letters(await take_one(queue, ALICE), "no")
    (letter,) = await queue.read_dead_letters(1)
    assert await queue.delete_dead_letter(letter.id)
    assert not await queue.delete_dead_letter(letter.id)


async def test_an_unknown_id_names_no_dead_letter(queue: JobQueue) -> None:
    with pytest.raises(ValueError, match="not the id"):
        await queue.retry_dead_letter("*")
