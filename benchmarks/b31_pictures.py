"""What pictures cost: the home of a site that has them, the way from an upload to a ready picture, and other jobs.

Home: `GET /` of 30 posts, every tenth with four pictures, against the same home without pictures, each from its own
daphne and Redis. Upload: a JPEG of 12 megapixels through the client API, until it is ready; one daphne, one worker,
one picture at a time. Other jobs: the time from a POST over HTTP to its entry on the sockets of 20 followers while
pictures of 12 megapixels are uploaded one after another, against the time without them.
"""

import asyncio
import contextlib
import io
import os
import re
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx

from benchmarks.audience import FollowedSite, encode_subscription, followed_site
from benchmarks.b7_push_latency import one_round
from benchmarks.figures import Figure, Plan, Samples, at_most
from benchmarks.listeners import ListenerOptions, ListenerProcess, percentile, raise_file_limit, running_listeners
from benchmarks.rounds import measure_in_rounds
from benchmarks.servers import running_worker
from benchmarks.web import HttpSite, LoadMeasurement, PageRequests, check_page, measure_load, populated_site

PICTURES_EVERY = 10
FOLLOWERS = 20
SIZE = 4_000, 3_000
READY_S = 60.0
ENCODER = b"timelines.media.encoder"


async def measure(plan: Plan) -> list[Figure]:
    return [*await measure_homes(plan), *await measure_uploads(plan)]


async def measure_homes(plan: Plan) -> list[Figure]:
    async with populated_site(plan) as plain, populated_site(plan, pictures_every=PICTURES_EVERY) as pictured:
        results = await measure_in_rounds(
            plan.rounds, {"plain": lambda: load_home(plan, plain), "pictured": lambda: load_home(plan, pictured)}
        )
    cpu, plain_cpu = (Samples.all(m.cpu_ms for m in results[name]) for name in ("pictured", "plain"))
    what = "home page of 30, four pictures on every tenth post"
    return [Figure(what, "CPU ms/request", cpu, at_most(1.10), plain_cpu, "without pictures")]


async def load_home(plan: Plan, site: HttpSite) -> LoadMeasurement:
    pages = PageRequests([site.get("/", reader) for reader in site.cookies], holds=b"data-post-id=", times=30)
    check_page("home", site.server.port, pages)
    site.number += 1_000_000
    return await asyncio.to_thread(measure_load, site, pages, plan.seconds, site.number)


async def measure_uploads(plan: Plan) -> list[Figure]:
    raise_file_limit()
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(MEDIA_ROOT=folder, RATE_LIMIT_MEDIA="9999999/m", RATE_LIMIT_TOKEN="9999999/m")
        async with followed_site(FOLLOWERS, own_worker=False) as site:
            token = await create_token(site)
            crowd = ListenerOptions(site.server.port, site.cookies, encode_subscription("home"), awaited=FOLLOWERS)
            with running_listeners(crowd) as listeners, running_worker(site.redis_url):
                uploads = Uploads(site.server.port, token)
                rounds = await measure_in_rounds(plan.rounds, {"alone": lambda: asyncio.to_thread(uploads.run_one)})
                await asyncio.to_thread(uploads.measure_encoder)
                waits = await measure_in_rounds(
                    plan.rounds,
                    {
                        "without": lambda: one_round(site, listeners),
                        "beside": lambda: publish_beside_uploads(site, listeners, uploads),
                    },
                )
    p99, usual_p99 = (
        Samples.all(percentile(each, 99) * 1000 for each in waits[name]) for name in ("beside", "without")
    )
    longer = Samples(tuple(a - b for a, b in zip(p99.values, usual_p99.values, strict=True)))
    return [
        Figure("upload of 12 megapixels, until it is ready", "s", Samples.all(rounds["alone"]), at_most(2)),
        Figure("memory of the picture process", "MB", Samples.of(uploads.encoder_mb), at_most(300)),
        Figure("other jobs wait longer beside uploads (p99)", "ms", longer, at_most(50), note=f"p99 {p99} ms"),
    ]


async def create_token(site: FollowedSite) -> str:
    from accounts.sessions.values import TokenGrant

    author = await site.services.accounts.get(site.author)
    return await site.services.access_tokens.issue(author, TokenGrant("", "benchmark", ("read", "write")))


async def publish_beside_uploads(site: FollowedSite, listeners: ListenerProcess, uploads: "Uploads") -> list[float]:
    with uploads.running():
        return await one_round(site, listeners)


class Uploads:
    """Uploads pictures through the client API. `encoder_mb` is the highest memory of an encoder, in MB."""

    def __init__(self, port: int, token: str) -> None:
        self._client = httpx.Client(
            base_url=f"http://127.0.0.1:{port}", headers={"Authorization": f"Bearer {token}"}, timeout=READY_S
        )
        self._picture = photo()
        self.encoder_mb = 0.0

    def run_one(self) -> float:
        """Return the seconds from the request to the ready picture."""
        started = time.perf_counter()
        files = {"file": ("photo.jpg", self._picture, "image/jpeg")}
        media_id = self._client.post("/api/v2/media", files=files).raise_for_status().json()["id"]
        while (status := self._client.get(f"/api/v1/media/{media_id}").raise_for_status().status_code) != 200:
            if status != 206 or time.perf_counter() > started + READY_S:
                raise RuntimeError(f"the picture is not ready: status {status}")
            time.sleep(0.02)
        return time.perf_counter() - started

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Upload one picture after another during the block."""
        with repeating(self.run_one):
            time.sleep(0.3)  # until the first picture is being encoded
            yield

    def measure_encoder(self) -> None:
        """Upload pictures, and read the memory of their encoders meanwhile."""
        with repeating(self._read_encoder):
            for _ in range(3):
                self.run_one()

    def _read_encoder(self) -> None:
        self.encoder_mb = max(self.encoder_mb, find_encoder_mb())
        time.sleep(0.01)


@contextlib.contextmanager
def repeating(step: Callable[[], object]) -> Iterator[None]:
    """Call `step` again and again in a thread during the block."""
    stopped = threading.Event()

    def run() -> None:
        while not stopped.is_set():
            step()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def photo() -> bytes:
    """Return a JPEG of 12 megapixels and about 5 MB, with noise as photos have it."""
    from PIL import Image

    smooth = Image.linear_gradient("L").resize(SIZE)
    noise = Image.effect_noise(SIZE, 64)
    image = Image.merge("RGB", (Image.blend(smooth, noise, 0.3), smooth, Image.blend(noise, smooth, 0.7)))
    file = io.BytesIO()
    image.save(file, "JPEG", quality=92)
    return file.getvalue()


def find_encoder_mb() -> float:
    """Return the highest memory (VmHWM) that a running encoder has had, in MB, or 0 if none runs."""
    peaks = [0.0]
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if ENCODER in (process / "cmdline").read_bytes():
                peak = re.search(r"VmHWM:\s+(\d+)", (process / "status").read_text())
                peaks.append(int(peak[1]) / 1024 if peak else 0.0)
    return max(peaks)
