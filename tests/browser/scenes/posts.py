"""Scenarios of posts: threads, reactions, tags, search, notifications."""

from collections.abc import Callable

from playwright.sync_api import expect

from tests.browser.scenes.base import LONG_WORD, PageScenario


def a_thread(scene: PageScenario) -> None:
    answer = scene.own.publishes("an answer", in_reply_to=scene.post["id"])
    scene.friend.publishes("and one to that", in_reply_to=answer["id"])
    scene.reader.go_to(answer["url"])


def a_thread_with_gaps(scene: PageScenario) -> None:
    """A deep thread with a deleted branch and more ancestors than the page shows."""
    posts = [scene.post]
    for number in range(24):
        posts.append(scene.own.publishes(f"{number} {LONG_WORD}", in_reply_to=posts[-1]["id"]))
    for post in (posts[20], posts[23]):
        scene.own.deletes(post)
    scene.own.publishes("another branch", in_reply_to=posts[22]["id"])
    scene.reader.go_to(posts[22]["url"])
    expect(scene.reader.page.locator(".gone")).to_have_count(2)


def much_reacted_to(scene: PageScenario) -> None:
    """Posts with all reactions and wide numbers; the friend's post also appears as a boost."""
    stranger = scene.friend.publishes("said for followers alone", audience="followers")
    public_post = scene.friend.get("/public/")["posts"][0]
    for post in (scene.post, public_post, stranger):
        for act in ("like", "boost", "bookmark"):
            scene.own.post(f"/posts/{post['id']}/{act}/")
    with scene.site.redis() as client:
        client.set(f"posts:{{{scene.post['id']}}}:counts", "1234567 1234567 1234567")


def own_profile_with_boosts(scene: PageScenario) -> None:
    much_reacted_to(scene)
    scene.reader.go_to(f"/@{scene.own.handle}/")
    expect(scene.reader.page.locator("[data-boost-of]").first).to_be_visible()


def own_profile_with_a_pin(scene: PageScenario) -> None:
    post = scene.own.publishes(f"worth reading {LONG_WORD}")
    scene.own.post(f"/posts/{post['id']}/pin/")
    scene.reader.go_to(f"/@{scene.own.handle}/")
    expect(scene.reader.page.locator(".pinned article")).to_have_count(1)


def a_redraft(scene: PageScenario) -> None:
    post = scene.own.publishes("frist", spoiler_text=LONG_WORD, language="de")
    scene.reader.go_to(f"/posts/{post['id']}/redraft/")


def a_post_with_reactions(scene: PageScenario) -> None:
    much_reacted_to(scene)
    scene.reader.go_to(scene.post["url"])


def bookmarks_with_some(scene: PageScenario) -> None:
    much_reacted_to(scene)
    scene.reader.go_to("/bookmarks/")


def who_reacted(kind: str) -> Callable[[PageScenario], None]:
    def act(scene: PageScenario) -> None:
        much_reacted_to(scene)
        scene.reader.go_to(f"{scene.post['url']}{kind}/")

    return act


def a_tag(scene: PageScenario) -> None:
    tag = "w" * 100
    scene.friend.publishes(f"#{tag}")
    scene.reader.go_to(f"/tags/{tag}/")


def a_search(scene: PageScenario) -> None:
    tag = f"{LONG_WORD[:80]}{scene.own.handle}"
    scene.friend.publishes(f"#{tag} is what {scene.own.handle} says: {LONG_WORD}")
    path = f"/search/?q=%23{tag}"
    scene.reader.wait_for(lambda: bool(scene.own.get(path)["posts"]))
    scene.reader.go_to(path)


def notifications_of_all_kinds(scene: PageScenario) -> None:
    mine = scene.own.publishes(f"what is told of: {LONG_WORD}")
    scene.friend.publishes(f"@{scene.own.handle} {LONG_WORD}")
    scene.friend.publishes("an answer", in_reply_to=mine["id"])
    for action in ("like", "boost"):
        scene.friend.post(f"/posts/{mine['id']}/{action}/")
    scene.reader.wait_for(lambda: len(scene.own.get("/notifications/")["notifications"]) == 5)
    scene.reader.go_to("/notifications/")


def followed_hashtags(scene: PageScenario) -> None:
    tag = f"{LONG_WORD[:60]}{scene.own.handle}"
    scene.friend.publishes(f"#{tag} is what I follow")
    scene.own.post(f"/tags/{tag}/follow/")
    scene.reader.go_to("/tags/")
    scene.reader.page.locator("details.panel > summary").first.click()
