/** Requests: actions answer with JSON, pages with HTML. */

import { noteChange } from "./backforward.js";
import { word } from "./words.js";

const token = () => document.querySelector("#post-actions [name=csrfmiddlewaretoken]")?.value ?? "";

/**
 * POST an action. Never throws: without a response it returns {ok: false, status: 0} and a message.
 * @param {Record<string, string> | FormData} fields
 * @param {RequestInit} how `keepalive` completes it after the page is closed; others change pages
 */
export async function send(path, fields = {}, how = {}) {
  try {
    const body = new URLSearchParams(fields);
    body.delete("next");
    const headers = { Accept: "application/json", "X-CSRFToken": token() };
    const answer = await fetch(path, { method: "POST", body, headers, credentials: "same-origin", ...how });
    if (!how.keepalive) noteChange();
    return { ok: answer.ok, status: answer.status, data: await answer.json().catch(() => ({})) };
  } catch {
    return { ok: false, status: 0, data: { message: word("unreachable") } };
  }
}

/** Fetch a page of this site as a document. Throws after an error. */
export async function page(path) {
  const answer = await fetch(path, { headers: { Accept: "text/html" }, credentials: "same-origin" });
  if (!answer.ok) throw new Error(`${answer.status}`);
  return parse(await answer.text());
}

/** Parse HTML as a separate document, in which no script runs. */
export const parse = (html) => new DOMParser().parseFromString(html, "text/html");

export const postsIn = (root) => [...root.querySelectorAll("article[data-post-id]")];

/** Is an element in no closed element? In Safari before 17.4 each counts as shown. */
export const isShown = (element) => element.checkVisibility?.() ?? true;

/** Return the posts that no closed element hides. */
export const shownPosts = (root) => postsIn(root).filter(isShown);

export const postOf = (root, id) => root.querySelector(`article[data-post-id="${CSS.escape(id)}"]`);

/** Return the id of the post that an entry shows: of a boost, the original. */
export const shownId = ({ dataset }) => dataset.boostOf ?? dataset.postId;

/** Return the entries that show a post, directly or as a boost. */
export function showingsOf(root, id) {
  const escaped = CSS.escape(id);
  return root.querySelectorAll(`article[data-boost-of="${escaped}"], article[data-post-id="${escaped}"]`);
}
