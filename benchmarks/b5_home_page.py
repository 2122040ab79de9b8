"""A signed-in reader's home page of 30 posts over HTTP: one daphne process, 32 keep-alive connections.

Ours: `GET /` with session and CSRF cookies, 64 readers in turn, the whole of the middleware, limits counted
in Redis at every request; entries rendered before, as the newest posts are on a site in use. Reference:
Django's stock ASGI handler with one async view that returns "hello", no middleware, no database, under the
same daphne, and for information the same view on the site's ASGI handler. CPU is that of all processes of the site:
daphne, the worker, which delivers nothing meanwhile, and Redis. The load client is another process.
"""

from benchmarks.figures import Figure, Plan, Samples
from benchmarks.web import OWN_HELLO, PageRequests, compare, figures_of, populated_site


async def measure(plan: Plan) -> list[Figure]:
    async with populated_site(plan) as site:
        home = PageRequests([site.get("/", reader) for reader in site.cookies], holds=b"data-post-id=", times=30)
        results = await compare(plan, site, {"home": home}, own_hello=True)
    what, own = "home page of 30, signed in", Samples.all(m.cpu_ms for m in results["own hello"])
    cpu = Samples.all(m.cpu_ms for m in results["home"])
    return [
        *figures_of(what, results["home"], results["hello"]),
        Figure(what, "CPU ms/request", cpu, None, own, OWN_HELLO),
    ]
