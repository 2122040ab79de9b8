/** Refreshes the parts of a page with data-progress while a job works on them, without moving the focus. */

import { page } from "./send.js";
import { sayTimes } from "./times.js";

const EVERY_MS = 3_000;

async function refresh() {
  if (!document.hidden) await refreshParts().catch(() => {}); // without a connection the next refresh tries again
  if (document.querySelector("[data-progress]")) setTimeout(refresh, EVERY_MS);
}

async function refreshParts() {
  const fresh = await page(location.pathname);
  for (const part of document.querySelectorAll("[data-progress]")) {
    const next = fresh.getElementById(part.id);
    if (next) part.replaceChildren(...document.importNode(next, true).childNodes);
    if (!next?.hasAttribute("data-progress")) part.removeAttribute("data-progress");
    sayTimes(part);
  }
}

setTimeout(refresh, EVERY_MS);
