/** Refreshes parts with data-progress until the page comes without it. */

import { page } from "./send.js";
import { sayTimes } from "./times.js";

const EVERY_MS = 4_000;
const renews = document.querySelector("[data-renew]");

async function refresh() {
  const parts = document.querySelectorAll("[data-progress]");
  if (!parts.length) return;
  if (!document.hidden && renews?.checked !== false) {
    const fresh = await page(location.href).catch(() => {});
    const { isCollapsed, anchorNode } = getSelection();
    for (const part of parts) {
      part.ariaBusy = !fresh;
      const isUsed = part.contains(document.activeElement) || (!isCollapsed && part.contains(anchorNode));
      if (!fresh || isUsed) continue; // it would lose focus and selection
      const next = fresh.getElementById(part.id);
      part.replaceChildren(...(next?.childNodes ?? []));
      if (!next?.hasAttribute("data-progress")) part.removeAttribute("data-progress");
      sayTimes(part);
    }
  }
  setTimeout(refresh, EVERY_MS);
}

if (renews) renews.parentElement.hidden = false;
setTimeout(refresh, EVERY_MS);
