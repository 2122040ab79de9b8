/** Clicks on posts: count followed links of others, and open a post. */

import { send, shownId } from "./send.js";

function count(event) {
  if (event.button > 1 || !event.target.closest?.(".post-text a.link")) return;
  const article = event.target.closest("article[data-post-id]");
  const isOwn = article?.dataset.author === document.body.dataset.handle && !article.dataset.boostOf;
  if (article && !isOwn) send("/clicks/", { post: shownId(article) }, { keepalive: true });
}

const CONTROLS = "a, button, summary, details:not(.warned), label, input, select, textarea";

/** Follow the link of the post's time, unless the click was on a control, selected text or closes a menu. */
function openPost(event) {
  const article = event.target.closest?.(".timeline article.post, .thread-parent article.post");
  const link = article?.querySelector(".post-time");
  const control = event.target.closest?.(CONTROLS);
  if (!link || event.button > 1 || article.contains(control) || String(getSelection())) return;
  if (document.querySelector("details.menu[open]")) return;
  if (event.button || event.ctrlKey || event.metaKey) open(link.href, "_blank", "noopener");
  else if (!event.shiftKey) link.click();
}

/** Go back to the previous page of this site, where the reader left it. */
function back(event) {
  if (!event.target.closest?.("a[data-back]") || !document.referrer.startsWith(`${location.origin}/`)) return;
  event.preventDefault();
  history.back();
}

export function countClicks() {
  document.addEventListener("click", back);
  document.addEventListener("click", count);
  document.addEventListener("auxclick", count); // the middle button opens a new tab
  document.addEventListener("click", openPost, { capture: true });
  document.addEventListener("auxclick", openPost);
}
