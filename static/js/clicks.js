/** Tells the site that a link of somebody else's post is followed. The link leads straight to its target. */

import { send } from "./send.js";

function onClick(event) {
  if (event.button > 1 || !event.target.closest?.(".post-text a.link")) return;
  const { postId, author } = event.target.closest("article[data-post-id]")?.dataset ?? {};
  if (postId && author !== document.body.dataset.handle) send("/clicks/", { post: postId }, { keepalive: true });
}

export function countClicks() {
  document.addEventListener("click", onClick);
  document.addEventListener("auxclick", onClick); // the middle button: a new tab
}
