/** Counts clicks on links of other authors' posts. The links lead directly to their targets. */

import { send, shownId } from "./send.js";

function onClick(event) {
  if (event.button > 1 || !event.target.closest?.(".post-text a.link")) return;
  const article = event.target.closest("article[data-post-id]");
  const isOwn = article?.dataset.author === document.body.dataset.handle && !article.dataset.boostOf;
  if (article && !isOwn) send("/clicks/", { post: shownId(article) }, { keepalive: true });
}

export function countClicks() {
  document.addEventListener("click", onClick);
  document.addEventListener("auxclick", onClick); // the middle button opens a new tab
}
