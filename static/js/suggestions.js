/** People to follow in the side panel of wide screens, read after the page. */

import { page, parse } from "./send.js";
import { attempt } from "./storage.js";

const CACHE_MS = 300_000;
const key = `people-${document.body.dataset.handle}`;

const readCached = () =>
  attempt(() => {
    const { at, html } = JSON.parse(sessionStorage.getItem(key));
    return Date.now() - at < CACHE_MS ? html : null;
  });

async function load() {
  const suggestions = await page("/accounts/suggestions/?limit=3");
  const list = suggestions.querySelector("ul.accounts");
  const html = list ? new XMLSerializer().serializeToString(list) : "";
  attempt(() => sessionStorage.setItem(key, JSON.stringify({ at: Date.now(), html })));
  return html;
}

export async function suggestPeople() {
  const section = document.querySelector("[data-aside-people]");
  if (!section?.checkVisibility?.() || document.querySelector("main [data-suggestions]")) return;
  section.onclick = (event) => event.target.closest("[data-follow]") && sessionStorage.removeItem(key);
  const list = parse(readCached() ?? (await load().catch(() => ""))).querySelector("ul");
  if (!list) return section.remove();
  list.querySelectorAll(".btn").forEach((button) => button.classList.add("btn-quiet", "btn-small"));
  section.querySelector("h2").after(list);
}
