"""Publishing over HTTP: `POST /posts/` from 32 connections, from the request until its answer (303).

A form as the browser sends it: session, CSRF token, text, an idempotency key of its own, the post limit
counted. Before the answer the job, the post, and its author's timelines are written. No worker runs meanwhile:
B1 measures the fan-out. Reference: "hello" as in B5, which writes nothing. Measured without persistence, and with the
append-only file (everysec), as a site in production has it.
"""

from urllib.parse import urlencode

from benchmarks.figures import Figure, Plan, at_least
from benchmarks.load import COUNTER_MARK
from benchmarks.web import CSRF, PageRequests, compare, figures_of, populated_site


async def measure(plan: Plan) -> list[Figure]:
    figures: list[Figure] = []
    for what, aof in (("publish, until the answer", False), ("the same, with the append-only file", True)):
        async with populated_site(plan, aof=aof, worker=False) as site:
            texts = (post.text for post in site.town.posts)
            forms = [
                site.post("/posts/", reader, form(text)) for reader, text in zip(site.cookies, texts, strict=False)
            ]
            results = await compare(plan, site, {"publish": PageRequests(forms, status=303)})
        figures += figures_of(what, results["publish"], results["hello"], at_least(0.8), None)
    return figures


def form(text: str) -> bytes:
    fields = {"csrfmiddlewaretoken": CSRF, "text": text}
    return urlencode(fields).encode() + b"&idempotency_key=bench-" + COUNTER_MARK
