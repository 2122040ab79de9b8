"""The client API compared with the site's own JSON: a home of 40, 40 notifications, 20 posts of an account.

Measured as B5. The API's posts have more fields, whole accounts and absolute URLs, and about four times the bytes. Each
reader has 40 notifications of mentions, which the worker created before.
"""

import time
from itertools import cycle, islice

from benchmarks.figures import Figure, Plan, Samples, at_most
from benchmarks.web import HELLO, HttpSite, PageRequests, check_page, compare, figures_of, populated_site, request

POSTS, NOTIFICATIONS, PROFILE_POSTS = 40, 40, 20
MENTIONED_AT_ONCE = 8
PROFILES = 8
DELIVERY_S = 120.0
Pair = tuple[PageRequests, PageRequests]


async def measure(plan: Plan) -> list[Figure]:
    async with populated_site(plan) as site:
        await mention_readers(site)
        kinds = await requests_of(site)
        wait_until_delivered(site, kinds[f"notifications of {NOTIFICATIONS}"][1])
        sides = {
            f"{side} {what}": pages
            for what, pair in kinds.items()
            for side, pages in zip(("API", "JSON"), pair, strict=True)
        }
        results = await compare(plan, site, sides)
    cpu = {name: Samples.all(each.cpu_ms for each in found) for name, found in results.items()}
    figures = figures_of(f"API home of {POSTS}", results[f"API home of {POSTS}"], results["hello"], None, None)
    unit, most = "CPU ms/request", f"API notifications of {NOTIFICATIONS}"
    for what in kinds:
        figures.append(
            Figure(f"API {what}", unit, cpu[f"API {what}"], at_most(1.2), cpu[f"JSON {what}"], "the site's own JSON")
        )
    return [*figures, Figure(most, unit, cpu[most], at_most(2), cpu["hello"], HELLO, absolute=True)]


async def mention_readers(site: HttpSite) -> None:
    """Publish posts that mention each reader in NOTIFICATIONS of them."""
    handles = {account_id: handle for handle, account_id in site.town.people.items()}
    readers, authors = list(site.cookies), site.town.ids[::7]
    for start in range(0, len(readers), MENTIONED_AT_ONCE):
        text = " ".join(f"@{handles[reader]}" for reader in readers[start : start + MENTIONED_AT_ONCE])
        for number in range(NOTIFICATIONS + 4):  # a reader may be the author of some
            now_ms = site.services.clock.now_ms()
            author = authors[number % len(authors)]
            await site.services.publishing.publish(author_id=author, text=f"{text} {number}", now_ms=now_ms)


async def requests_of(site: HttpSite) -> dict[str, Pair]:
    """Return the requests of the API, and those of the site's own JSON."""
    from accounts.sessions.values import TokenGrant

    tokens = {}
    for reader in site.cookies:
        account = await site.services.accounts.get(reader)
        tokens[reader] = await site.services.access_tokens.issue(account, TokenGrant("", "Benchmark", ("read",)))

    def pair(paths: list[str], own_paths: list[str], mark: bytes, own_mark: bytes, times: int) -> Pair:
        api = [get_with_token(site, path, token) for path, token in zip(paths, tokens.values(), strict=True)]
        own = [site.get(path, reader, "application/json") for path, reader in zip(own_paths, site.cookies, strict=True)]
        return PageRequests(api, holds=mark, times=times), PageRequests(own, holds=own_mark, times=times)

    count, people = len(tokens), list(site.town.people.items())[:PROFILES]
    authors = list(islice(cycle(people), count))
    mark, own_mark = b'"in_reply_to_account_id"', b'"in_reply_to"'
    return {
        f"home of {POSTS}": pair(
            [f"/api/v1/timelines/home?limit={POSTS}"] * count, [f"/?limit={POSTS}"] * count, mark, own_mark, POSTS
        ),
        f"notifications of {NOTIFICATIONS}": pair(
            [f"/api/v1/notifications?limit={NOTIFICATIONS}"] * count,
            [f"/notifications/?limit={NOTIFICATIONS}"] * count,
            b'"mention"',
            b'"read"',
            NOTIFICATIONS,
        ),
        f"{PROFILE_POSTS} posts of an account": pair(
            [f"/api/v1/accounts/{account_id}/statuses?limit={PROFILE_POSTS}" for _, account_id in authors],
            [f"/@{handle}/?limit={PROFILE_POSTS}" for handle, _ in authors],
            mark,
            own_mark,
            PROFILE_POSTS,
        ),
    }


def get_with_token(site: HttpSite, path: str, token: str) -> bytes:
    headers = {"Host": f"127.0.0.1:{site.port}", "Authorization": f"Bearer {token}", "Connection": "keep-alive"}
    return request("GET", path, headers)


def wait_until_delivered(site: HttpSite, notifications: PageRequests) -> None:
    """Wait until the last reader has all notifications."""
    until = time.monotonic() + DELIVERY_S
    last = PageRequests(notifications.requests[-1:], holds=notifications.holds, times=notifications.times)
    while True:
        try:
            return check_page("notifications", site.port, last)
        except RuntimeError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)
