/** Talking to the site: actions as JSON, pages as HTML whose posts can be taken out. */

const token = () => document.querySelector("#post-actions [name=csrfmiddlewaretoken]")?.value ?? "";

/**
 * POST an action. Never throws: no answer at all is {ok: false, status: 0}.
 * @param {Record<string, string> | FormData} fields
 * @param {RequestInit} how `keepalive` lets it finish while the page goes away
 */
export async function send(path, fields = {}, how = {}) {
  try {
    const body = new URLSearchParams(fields);
    body.delete("next");
    const headers = { Accept: "application/json", "X-CSRFToken": token() };
    const answer = await fetch(path, { method: "POST", body, headers, credentials: "same-origin", ...how });
    return { ok: answer.ok, status: answer.status, data: await answer.json().catch(() => ({})) };
  } catch {
    return { ok: false, status: 0, data: {} };
  }
}

/** The document of a page of this site. Throws when there is none. */
export async function page(path) {
  const answer = await fetch(path, { headers: { Accept: "text/html" }, credentials: "same-origin" });
  if (!answer.ok) throw new Error(`${answer.status}`);
  return parse(await answer.text());
}

/** HTML as a document of its own: nothing in it runs. */
export const parse = (html) => new DOMParser().parseFromString(html, "text/html");

export const postsIn = (root) => [...root.querySelectorAll("article[data-post-id]")];

export const postOf = (root, id) => root.querySelector(`article[data-post-id="${CSS.escape(id)}"]`);

/** The post that an entry shows: the original of a boost. */
export const shownId = ({ dataset }) => dataset.boostOf ?? dataset.postId;

/** The entries that show a post, by themselves or by a boost. */
export function showingsOf(root, id) {
  const escaped = CSS.escape(id);
  return root.querySelectorAll(`article[data-boost-of="${escaped}"], article[data-post-id="${escaped}"]`);
}
