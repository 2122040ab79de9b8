/** Edited posts: the newest version replaces older ones in every entry that shows the post, and in every quote of it. */

import { parse, showingsOf, shownId } from "./send.js";
import { sayTimes } from "./times.js";

const MOST_KEPT = 200;
const KEPT_PARTS = ".post-by, .post-actions"; // an edit does not change them, and they may have focus or a state
const newest = new Map(); // post id -> article of the newest version that a message contained

const versionOf = (article) => Number(article.dataset.version ?? 0);

/** Return the oldest version of a post that the page shows, or 0. */
export function versionShown(id) {
  const versions = [...showingsOf(document, id)].map(versionOf);
  return versions.length ? Math.min(...versions) : 0;
}

/** Show the version of a message. Entries that are inserted later get it, too. */
export function showEdited({ id, html }) {
  const article = parse(html).querySelector("article[data-post-id]");
  const known = newest.get(String(id));
  if (!article || (known && versionOf(known) > versionOf(article))) return;
  newest.delete(String(id));
  newest.set(String(id), article);
  if (newest.size > MOST_KEPT) newest.delete(newest.keys().next().value);
  for (const entry of showingsOf(document, String(id))) applyEdit(entry);
}

/** Replace the version that an entry shows, if a newer one is known. */
export function applyEdit(entry) {
  const edited = newest.get(shownId(entry));
  if (!edited || versionOf(edited) <= versionOf(entry)) return;
  const fresh = edited.cloneNode(true);
  const hadFocus = [...entry.children].some((part) => !part.matches(KEPT_PARTS) && part.contains(document.activeElement));
  const [context, other] = [entry, fresh].map((post) => post.querySelector(":scope > .post-context:not(.post-by)"));
  if (context) other?.replaceWith(context); // messages lack the answered post
  for (const part of [...entry.children]) if (!part.matches(KEPT_PARTS)) part.remove();
  for (const part of [...fresh.children]) if (!part.matches(KEPT_PARTS)) entry.querySelector(":scope > .post-actions").before(part);
  entry.querySelector(".post-author")?.setAttribute("id", entry.getAttribute("aria-labelledby"));
  entry.dataset.version = fresh.dataset.version;
  foldLike(entry, edited);
  sayTimes(entry);
  if (!hadFocus) return;
  entry.tabIndex = -1;
  entry.focus({ preventScroll: true });
}

/** Fold the entry if a keyword filter matches the new version, and unfold it if none does. */
function foldLike(entry, edited) {
  const [fold, template] = [entry, edited].map((article) => article.closest("[data-filtered]"));
  if (fold && !template) fold.replaceWith(entry);
  if (!template || fold) return;
  const put = template.cloneNode(true);
  entry.replaceWith(put);
  put.querySelector("article").replaceWith(entry);
}

/** Show the quoted post, or the sentence in its place, as the server sent it for this reader. */
export function showQuote({ id, html }) {
  for (const place of document.querySelectorAll(`[data-quote="${CSS.escape(String(id))}"]`)) {
    place.replaceChildren(...parse(html).body.childNodes);
    sayTimes(place);
  }
}
