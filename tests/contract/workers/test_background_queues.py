"""Each queue of the container is known to backups, audits and the pages of staff."""

from socialsite.admin.labels import LABELS
from socialsite.container import Services
from socialsite.maintenance.key_families import NOT_BACKED_UP
from socialsite.management.commands.deadletters import JOB_DESCRIPTIONS
from socialsite.recipes.job_queue import OUTBOX, QUEUE_NAMES


async def test_each_queue_of_the_container_is_known_everywhere(services: Services) -> None:
    names = services.background_queues.keys()
    assert names <= {*QUEUE_NAMES}
    assert names <= LABELS["queue"].keys()
    assert names - {OUTBOX} <= LABELS["job"].keys()
    assert names - {OUTBOX} <= JOB_DESCRIPTIONS.keys()


async def test_the_jobs_of_each_queue_are_in_a_backup_but_heartbeats_and_locks_are_not(services: Services) -> None:
    for each in services.background_queues.values():
        for key in (each.queue.stream_key, each.queue.dead_letters_key, each.queue.waiting_jobs_key("7")):
            assert not NOT_BACKED_UP.fullmatch(key)
        assert NOT_BACKED_UP.fullmatch(each.queue.heartbeat_key("abad1dea"))
    assert NOT_BACKED_UP.fullmatch("jobs:{mailer}:lock")


async def test_a_worker_of_each_queue_tries_a_job_no_longer_than_others_leave_it(services: Services) -> None:
    for each in services.background_queues.values():
        assert each.job_timeout_s * 1_000 < each.queue.retry_policy.stuck_after_ms
