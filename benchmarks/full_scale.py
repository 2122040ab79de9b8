"""`make scale`: 1,000,000 accounts, 50,000,000 follows and 5,000,000 posts on a cluster of three, on this machine.

A smaller site (a tenth, at most 100,000 accounts) is measured first, so that both are of one run. The import commands
run once for each processor, each with its own part of the data (crowd.py). Then homes are loaded and posts published as
in B21, then come `backup` and `audit`. The servers persist nothing. The figures go into docs/reference/scale.md.
"""

import argparse
import asyncio
import contextlib
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import machine
from benchmarks.as_met import prepare_reader, run_in_batches, running_site
from benchmarks.b21_as_met import measure_homes
from benchmarks.crowd import Crowd, share, write_follows, write_posts
from benchmarks.environment import prepare
from benchmarks.figures import format_short
from benchmarks.needs import GB, UNITS
from benchmarks.pages import DOCS, replace_section, table
from benchmarks.servers import ROOT, cpu_s

if TYPE_CHECKING:
    from socialsite.container import Services
    from socialsite.ids import AccountId
    from tests.support.topologies import Deployment

PAGE, BEGIN = DOCS / "scale.md", "<!-- make scale -->"
SMALLER, PROCESSES = 100_000, os.cpu_count() or 1
READERS, POSTS = 2_000, 300
WARM_UP_S, LOAD_S, ROUNDS = 30.0, 6.0, 5
ACCOUNTS_PER_IMPORT, SAMPLED_KEYS = 50_000, 100_000
BASE_BYTES, NEEDED_BYTES = 2 * GB, {"accounts": 1_300, "follows": 130, "posts": 1_300}
"""Memory of the commands, and of each row in the servers."""
UNITS_OF_B20 = {
    "an account": "bytes an account",
    "a follow": "bytes a follow, both sides",
    "a post without its search index": "bytes a post, with its place on the profile",
}
FAMILIES_OF_A_POST = {"posts:{N}:post", "timelines:{N}:profile", "posts:{N}:replies"}


@dataclass(slots=True)
class MeasuredSite:
    """A cluster, and its figures: by row, the cell of the table and the value that is compared with the other site."""

    crowd: Crowd
    deployment: "Deployment"
    folder: Path
    pids: list[int] = field(default_factory=list)
    rows: dict[str, tuple[str, float]] = field(default_factory=dict)

    def add(self, what: str, value: float, unit: str, note: str = "") -> None:
        self.rows[what] = f"{format_short(value)} {unit}{note}", value
        self.say(f"{what}: {self.rows[what][0]}")

    def say(self, line: str) -> None:
        print(time.strftime("%H:%M:%S"), f"{self.crowd.accounts:,} accounts:", line, flush=True)

    def memory(self, name: str = "used_memory") -> int:
        return sum(client.info("memory")[name] for client in self.deployment.masters())

    def run(self, what: str, count: int, *commands: Sequence[str]) -> None:
        """Run commands beside each other, and add their CPU time for each of `count` items.

        Raises RuntimeError if one fails, except an audit that found damage.
        """
        environment = {**os.environ, "REDIS_URL": self.deployment.urls.default}
        started, server_s = time.monotonic(), sum(map(cpu_s, self.pids))
        with contextlib.ExitStack() as stack:
            output = stack.enter_context(tempfile.TemporaryFile("w+"))
            start = partial(subprocess.Popen, cwd=ROOT, env=environment, stdout=output, stderr=output)
            processes = [start([sys.executable, *command]) for command in commands]
            for process in processes:
                stack.callback(process.kill)
            ended = [os.wait4(process.pid, 0) for process in processes]
            output.seek(0)
            self.say("; ".join(output.read().splitlines()[-20:]))
        if any(status for _, status, _ in ended) and "audit" not in commands[0]:
            raise RuntimeError(f"{commands} failed")
        seconds, server_s = time.monotonic() - started, sum(map(cpu_s, self.pids)) - server_s
        client_s = sum(usage.ru_utime + usage.ru_stime for *_, usage in ended)
        note = f": commands {format_short(client_s * 1e6 / count)}, servers {format_short(server_s * 1e6 / count)}; "
        note += f"{format_short(seconds)} s; {max(usage.ru_maxrss for *_, usage in ended) / 1000:,.0f} MB a command"
        self.add(what, (client_s + server_s) * 1e6 / count, "CPU us", note)


def require_memory(crowd: Crowd) -> None:
    """Exit if the machine has too little free memory."""
    needed = BASE_BYTES + sum(getattr(crowd, name) * size for name, size in NEEDED_BYTES.items())
    lines = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    if (free := int(lines["MemAvailable"].split()[0]) * 1024) < needed:
        sys.exit(f"This needs {needed / GB:.1f} GB of free memory; {free / GB:.1f} GB are free.")


def measure(crowd: Crowd) -> MeasuredSite:
    """Import, measure and audit one site."""
    from benchmarks.standing import deployments

    with deployments("cluster of 3") as found, tempfile.TemporaryDirectory(prefix="ss-scale-") as name:
        site = MeasuredSite(crowd, found["cluster of 3"], Path(name))
        for client in site.deployment.masters():
            client.config_set("cluster-node-timeout", 60_000)
            site.pids.append(client.info("server")["process_id"])
        fill(site)
        key_count = sum(client.dbsize() for client in site.deployment.masters())
        resident = f"; {site.memory('used_memory_rss') / GB:.3g} GB resident; {key_count:,} keys"
        site.add("memory of the servers", site.memory() / GB, "GB", resident)
        try:
            asyncio.run(measure_visits(site))
        except (RuntimeError, AssertionError) as error:  # a busy machine refuses posts
            site.say(f"visits were not measured: {error}")
        backup = site.folder / "site.backup"
        site.run("backup, a key", key_count, ("manage.py", "backup", str(backup)))
        site.add("size of the backup", backup.stat().st_size / 1e6, "MB")
        site.run("audit, a key", key_count, ("manage.py", "audit"))
    return site


def fill(site: MeasuredSite) -> None:
    """Import accounts, follows and posts, and measure the work and the growth of the servers' memory."""
    crowd, parts, started = site.crowd, range(PROCESSES), time.monotonic()
    graphs, posts = ([site.folder / f"{kind}-{part}" for part in parts] for kind in ("follows", "posts"))
    with ProcessPoolExecutor(PROCESSES) as pool:
        follows = sum(pool.map(partial(write_follows, crowd, PROCESSES), parts, graphs))
        list(pool.map(partial(write_posts, crowd, PROCESSES), parts, posts))
    site.say(f"wrote the data in {time.monotonic() - started:.0f} s: {follows:,} follows")
    own = ("-m", "benchmarks.full_scale", "--import-accounts")
    shares = [share(crowd.accounts, part, PROCESSES) for part in parts]
    for what, count, commands in (
        ("an account", crowd.accounts, [(*own, f"{each.start}", f"{each.stop}") for each in shares]),
        ("a follow", follows, [("manage.py", "import_graph", f"{path}") for path in graphs]),
        ("a post", crowd.posts, [("manage.py", "import_posts", f"{path}") for path in posts]),
    ):
        before = site.memory()
        site.run(f"import, {what}", count, *commands)
        site.add(what, (site.memory() - before) / count, "bytes")


async def import_accounts(ranks: Sequence[int]) -> None:
    """Create accounts without a password as the import commands do."""
    from socialsite.startup import open_services

    async with open_services() as services:
        for start in range(0, len(ranks), ACCOUNTS_PER_IMPORT):
            handles = [f"n{rank}" for rank in ranks[start : start + ACCOUNTS_PER_IMPORT]]
            await services.accounts.import_accounts(handles=handles, now_ms=services.clock.now_ms())


async def measure_visits(site: MeasuredSite) -> None:
    """Load homes. Then publish posts over HTTP, and wait until all cached homes of the followers have them."""
    from redis import RedisCluster

    from socialsite.service_config import ServiceConfig
    from socialsite.startup import open_services

    url = site.deployment.urls.default
    async with open_services(url, ServiceConfig()) as services:
        await measure_bytes_of_posts(site, services)
        cookies = await prepare_readers(services, site.crowd)
        most_followed, *authors = cookies
        (counts,) = await services.store.read(services.repositories.follows.counts(most_followed))
        jobs = RedisCluster.from_url(url.replace("redis+cluster", "redis").split(",")[0])
        with running_site(url, site.pids, jobs, cookies) as running:
            await measure_homes(running, running.homes(), WARM_UP_S)
            homes = [await measure_homes(running, running.homes(), LOAD_S) for _ in range(ROUNDS)]
            p99 = f"; p99 {statistics.median(load.p99_ms for _, load in homes):.0f} ms"
            site.add("a home of 30 as met", statistics.median(cost for cost, _ in homes), "CPU ms", p99)
            for what, names, count in (
                ("a post with the mean of followers, until all have it", authors[:POSTS], len(authors[:POSTS])),
                ("a post of the most followed, a follower", [most_followed], counts.followers),
            ):
                started, before = time.monotonic(), running.cpu_s
                for author in names:
                    await running.publish_once(author)
                await running.wait_until_delivered()
                note = f"; {len(names):,} posts in {format_short(time.monotonic() - started)} s"
                site.add(what, (running.cpu_s - before) * 1e6 / count, "CPU us", note)


async def measure_bytes_of_posts(site: MeasuredSite, services: "Services") -> None:
    """Estimate the bytes that B20 counts of a post, from a sample of keys."""
    from socialsite.maintenance.memory import UNCOUNTED_KEY_BYTES, MemoryMeter, key_table_bytes

    report, _ = await MemoryMeter(services.store, sample_size=SAMPLED_KEYS).sample(services.clock.now_ms())
    a_key = sum(key_table_bytes(node.keys) for node in report.nodes) / sum(node.keys for node in report.nodes)
    families = [family for name, family in report.families.items() if name in FAMILIES_OF_A_POST]
    size = sum(family.bytes + family.keys * (a_key + UNCOUNTED_KEY_BYTES) for family in families)
    site.add("a post without its search index", size / site.crowd.posts, "bytes")


async def prepare_readers(services: "Services", crowd: Crowd) -> "dict[AccountId, str]":
    """Return the session cookies of readers with lists, filters and homes. The first is the most followed account."""
    from benchmarks.visitors import sign_in
    from socialsite.ids import AccountId

    ids = list(map(AccountId, range(1, crowd.accounts + 1)))
    usual = range(crowd.accounts // 10, crowd.accounts * 3 // 20)  # with about the mean of followers
    ranks = random.Random(3).sample(usual, min(READERS, len(usual)))
    readers = await services.repositories.accounts.find_ids_by_handle(f"n{rank}" for rank in (0, *ranks))

    async def prepare_one(reader: AccountId) -> None:
        (followed,) = await services.store.read(services.repositories.follows.following_ids(reader))
        await prepare_reader(services, reader, followed, ids, services.clock.now_ms())

    await run_in_batches(prepare_one(reader) for reader in readers.values())
    return await sign_in(services, readers.values())


def make_table(small: MeasuredSite, full: MeasuredSite) -> str:
    head = ["", *(f"{site.crowd.accounts:,} accounts" for site in (small, full)), "ratio", "B20"]
    rows = [[name, *(f"{getattr(site.crowd, name):,}" for site in (small, full)), "", ""] for name in NEEDED_BYTES]
    for what, (text, value) in full.rows.items():
        unit = format_short(UNITS[UNITS_OF_B20[what]].value) if what in UNITS_OF_B20 else ""
        other, smaller = small.rows.get(what, ("", 0.0))
        rows.append([what, other, text, format_short(value / smaller) if smaller else "", unit])
    return table([head, *rows[1:]])


def main() -> None:
    parser = argparse.ArgumentParser(prog="make scale", description=__doc__)
    for name, default in (("accounts", 1_000_000), ("follows", 50_000_000), ("posts", 5_000_000)):
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N", help=f"default {default:,}")
    parser.add_argument("--print", action="store_true", help="docs/reference/scale.md stays as it is")
    parser.add_argument("--import-accounts", nargs=2, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    prepare()
    if options.import_accounts:
        asyncio.run(import_accounts(range(*options.import_accounts)))
        return
    for number in (signal.SIGINT, signal.SIGTERM):  # asyncio's own handler would wait for the running command
        signal.signal(number, lambda *_: sys.exit("Stopped."))
    full, started = Crowd(options.accounts, options.follows, options.posts, int(time.time()) - 60), time.monotonic()
    require_memory(full)
    smaller = full.scaled_to(min(SMALLER, full.accounts // 10))
    text = make_table(measure(smaller), measure(full))
    text += f"\n\n{time.strftime('%Y-%m-%d')}, in {(time.monotonic() - started) / 60:.0f} minutes, commit "
    text += f"{machine.commit()}, load {machine.load():.1f}, {machine.description()}."
    print(text)
    if not options.print:
        PAGE.write_text(replace_section(PAGE.read_text(), BEGIN, [text]))


if __name__ == "__main__":
    main()
