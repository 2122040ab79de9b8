"""The demo site for pictures and measurements: its accounts, a conversation, and activity."""

from tests.support.visitor import HttpVisitor

CONVERSATION_TEXT = "Which book should everybody read once?"


def demo_visitor(url: str, handle: str, password: str | None = None) -> HttpVisitor:
    """Log in one of the demo's three accounts, whose passwords are known, or another."""
    visitor = HttpVisitor(url, handle, timeout_s=60)
    visitor.http.get("/accounts/login/")
    answer = visitor.post("/accounts/login/", username=handle, password=password or f"{handle}-in-wonderland")
    assert answer.status_code == 200, answer.text
    return visitor


def find_conversation(visitor: HttpVisitor) -> str:
    """Return the path of the conversation that alice started."""
    posts = visitor.get("/@alice/")["posts"]
    return next(str(post["url"]) for post in posts if CONVERSATION_TEXT in post["text"])


def generate_activity(url: str) -> None:
    """Create activity on the site: notifications for alice, trending hashtags, a list and a filter."""
    with demo_visitor(url, "alice") as alice, demo_visitor(url, "bob") as bob, demo_visitor(url, "carol") as carol:
        conversation_id = find_conversation(alice).rstrip("/").rpartition("/")[2]
        for friend, text in ((bob, "Second coffee, third #haiku."), (carol, "Snow on the roofs. #haiku #winter")):
            friend.post(f"/posts/{conversation_id}/like/")
            friend.publishes(text)
        bob.post(f"/posts/{conversation_id}/boost/")
        carol.publishes("@alice it is on my desk again. #books #winter", in_reply_to=conversation_id)
        alice.publishes("Reading by the window until the light goes. #books")
        for post in carol.get("/@carol/")["posts"][:2]:
            alice.post(f"/posts/{post['id']}/bookmark/")
            alice.post(f"/posts/{post['id']}/like/")
        new_list = alice.post("/lists/", title="Poets").json()
        for handle in ("basho", "issa"):
            alice.post(f"/lists/{new_list['id']}/members/", handle=handle)
        alice.post("/accounts/filters/", phrase="spoiler")
