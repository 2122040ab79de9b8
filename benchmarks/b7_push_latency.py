"""The time from a POST over HTTP to its entry on the sockets of 200 followers, among 2,000 sockets.

One daphne serves all sockets (each reader's own home) and takes the post; one `manage.py syndicate` is the
worker, a separate process. 1,800 of the readers do not follow the author. The clock starts before the
request is sent and stops at the arrival in the client process. One post at a time.
"""

import asyncio
import http.client
import itertools
import time
from urllib.parse import urlencode

from benchmarks.audience import POST_TEXT, SOCKET_COUNT, FollowedSite, encode_subscription, followed_site
from benchmarks.figures import Figure, Plan, Samples, at_most
from benchmarks.listeners import ListenerOptions, ListenerProcess, percentile, raise_file_limit, running_listeners
from benchmarks.rounds import measure_in_rounds
from benchmarks.servers import running_worker
from benchmarks.web import CSRF

FOLLOWERS = 200
POSTS = 20


async def measure(plan: Plan) -> list[Figure]:
    raise_file_limit()
    followers, sockets = plan.size(FOLLOWERS), plan.size(SOCKET_COUNT)
    async with followed_site(followers, strangers=sockets - followers, own_worker=False) as site:
        crowd = ListenerOptions(site.server.port, site.cookies, encode_subscription("home"), awaited=followers)
        with running_listeners(crowd) as listeners, running_worker(site.redis_url):
            rounds = await measure_in_rounds(plan.rounds, {"ours": lambda: one_round(site, listeners)})
    p50, p99 = (Samples.all(percentile(waits, p) * 1000 for waits in rounds["ours"]) for p in (50, 99))
    what = f"HTTP post to the sockets of {followers} followers among {sockets:,}"
    return [Figure(what, "ms p99", p99, at_most(60), note=f"p50 {p50} ms")]


async def one_round(site: FollowedSite, listeners: ListenerProcess) -> list[float]:
    """Return the seconds from each post to each arrival."""
    waits: list[float] = []
    for _ in range(POSTS):
        mark = f"mark{next(_numbers):06d}"
        await asyncio.to_thread(listeners.arm, mark)
        started = time.monotonic()
        await asyncio.to_thread(publish, site, f"{mark} {POST_TEXT}")
        waits += [at - started for at in await asyncio.to_thread(listeners.arrivals)]
    return waits


_numbers = itertools.count(1)


def publish(site: FollowedSite, text: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", site.server.port, timeout=20)
    form = urlencode({"csrfmiddlewaretoken": CSRF, "text": text})
    headers = {
        "Cookie": f"sessionid={site.author_cookie}; csrftoken={CSRF}",
        "Content-Type": "application/x-www-form-urlencoded",
    }
    connection.request("POST", "/posts/", form, headers)
    status = connection.getresponse().status
    connection.close()
    if status != 303:
        raise RuntimeError(f"publishing was answered with {status}")
