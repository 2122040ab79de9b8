"""The home of 40 posts in the client API, measured as B5, against the home of 40 posts as the site's own JSON.

The API's posts have more fields, whole accounts and absolute URLs, and about four times the bytes.
"""

from benchmarks.figures import Figure, Plan, Samples, at_most
from benchmarks.running import run_alone
from benchmarks.web import PageRequests, compare, figures_of, populated_site, request

POSTS = 40
OWN_JSON = "the site's own JSON home of 40"


async def measure(plan: Plan) -> list[Figure]:
    async with populated_site(plan) as site:
        from accounts.sessions.values import TokenGrant

        grant, host = TokenGrant("", "Benchmark", ("read",)), f"127.0.0.1:{site.server.port}"
        api, own = [], []
        for reader in site.cookies:
            token = await site.services.access_tokens.issue(await site.services.accounts.get(reader), grant)
            headers = {"Host": host, "Authorization": f"Bearer {token}", "Connection": "keep-alive"}
            api.append(request("GET", f"/api/v1/timelines/home?limit={POSTS}", headers))
            own.append(site.get(f"/?limit={POSTS}", reader, accept="application/json"))
        kinds = {
            "API home of 40": PageRequests(api, holds=b'"in_reply_to_account_id"', times=POSTS),
            "JSON home of 40": PageRequests(own, holds=b'"in_reply_to"', times=POSTS),
        }
        results = await compare(plan, site, kinds)
    what = "API home of 40"
    cpu, reference = (Samples.all(each.cpu_ms for each in results[name]) for name in kinds)
    return [
        *figures_of(what, results[what], results["hello"], None, None),
        Figure(what, "CPU ms/request", cpu, at_most(1.3), reference, OWN_JSON),
    ]


if __name__ == "__main__":
    run_alone("B30", measure)
