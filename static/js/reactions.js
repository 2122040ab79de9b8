/**
 * Boost, like and bookmark: shown at once, sent, and corrected by the response. A click during a request is sent after
 * it. All entries that show a post, boosts too, have the same state.
 */

import { send, showingsOf, shownId } from "./send.js";
import { takeOut } from "./timeline.js";
import { toast } from "./toast.js";
import { number, word } from "./words.js";

const STATES = { like: "liked", boost: "boosted", bookmark: "bookmarked" };
const busy = new Set();
const boosted = new Set();

/** Was the post boosted by a button of this page, and not unboosted since? */
export const isBoostedHere = (id) => boosted.has(id);

const buttonOf = (article, act) => article.querySelector(`:scope > .post-actions [data-act="${act}"]`);
const isOn = (button) => button.ariaPressed === "true";

/** Show the state in every entry. `counting` changes the number until the server's count arrives. */
function paint(id, act, on, counting = true) {
  for (const article of showingsOf(document, id)) {
    const button = buttonOf(article, act);
    if (!button || isOn(button) === on) continue;
    button.ariaPressed = String(on);
    button.setAttribute("formaction", `/posts/${id}/${on ? "" : "un"}${act}/`);
    const place = button.querySelector(".count");
    if (!place || !counting) continue;
    const count = Number(place.textContent.replace(/\D/g, "")) + (on ? 1 : -1);
    place.textContent = count > 0 ? number(count) : "";
  }
}

/** Show new counts in every entry of the post. */
export function showCounts({ id, counts }) {
  for (const article of showingsOf(document, String(id))) {
    for (const [name, count] of Object.entries(counts)) {
      const place = article.querySelector(`:scope > .post-actions [data-count="${CSS.escape(name)}"]`);
      if (place) place.textContent = count ? number(count) : "";
    }
  }
}

/** The response is the original post in its new state. */
function settle(id, { counts, viewer }) {
  if (!viewer) return;
  for (const [act, name] of Object.entries(STATES)) if (!busy.has(`${id} ${act}`)) paint(id, act, viewer[name], false);
  showCounts({ id, counts });
  if (viewer.boosted) return;
  const own = CSS.escape(document.body.dataset.handle ?? "");
  const mine = document.querySelectorAll(`ol article[data-boost-of="${CSS.escape(id)}"][data-author="${own}"]`);
  for (const article of mine) takeOut(article);
}

async function react(button) {
  const { act } = button.dataset;
  const id = shownId(button.closest("article"));
  const key = `${id} ${act}`;
  paint(id, act, !isOn(button));
  if (act === "boost") boosted[isOn(button) ? "add" : "delete"](id);
  if (busy.has(key)) return;
  busy.add(key);
  let said, answer;
  do {
    said = isOn(button);
    answer = await send(`/posts/${id}/${said ? "" : "un"}${act}/`);
  } while (answer.ok && isOn(button) !== said);
  busy.delete(key);
  if (answer.ok) return settle(id, answer.data);
  paint(id, act, !said);
  if (answer.status === 401) location.assign(`/accounts/login/?next=${encodeURIComponent(location.pathname)}`);
  else toast(answer.data.message || word("notDone"));
}

export function enhanceReactions() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-act]");
    if (!button || !document.body.dataset.handle) return; // for visitors the form leads to the log-in page
    event.preventDefault();
    react(button);
  });
}
