/** People to follow in the side panel of wide screens, read after the page. Without a script the panel links to them. */

import { page, parse } from "./send.js";

const CACHE_MS = 300_000;
const key = `people-${document.body.dataset.handle}`;

function readCached() {
  try {
    const { at, html } = JSON.parse(sessionStorage.getItem(key));
    return Date.now() - at < CACHE_MS ? html : null;
  } catch {
    return null;
  }
}

async function load() {
  const suggestions = await page("/accounts/suggestions/?limit=3");
  const list = suggestions.querySelector("ul.accounts");
  const html = list ? new XMLSerializer().serializeToString(list) : "";
  try {
    sessionStorage.setItem(key, JSON.stringify({ at: Date.now(), html }));
  } catch {} // storage is disabled or full
  return html;
}

export async function suggestPeople() {
  const section = document.querySelector("[data-aside-people]");
  if (!section?.checkVisibility?.() || document.querySelector("main [data-suggestions]")) return;
  section.addEventListener("click", (event) => event.target.closest("[data-follow]") && sessionStorage.removeItem(key));
  const list = parse(readCached() ?? (await load().catch(() => ""))).querySelector("ul");
  if (!list) return section.remove();
  list.querySelectorAll(".btn").forEach((button) => button.classList.add("btn-quiet", "btn-small"));
  section.querySelector("h2").after(document.importNode(list, true));
}
