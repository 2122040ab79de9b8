/** Refreshes the staff dashboard: loads the page and replaces one part. Pauses while the page is hidden. */

import { page } from "./send.js";
import { sayTimes } from "./times.js";

const EVERY_MS = 5_000;
const box = document.getElementById("ops-live");
const renews = document.querySelector("[data-renew]");

/** Replacing the part would lose focus and selections in it. */
function isIdle() {
  const selected = document.getSelection();
  return !box.contains(document.activeElement) && (selected.isCollapsed || !box.contains(selected.anchorNode));
}

async function renew() {
  if (!document.hidden && renews.checked && isIdle()) {
    try {
      const fresh = (await page(location.href)).getElementById("ops-live");
      if (fresh && isIdle()) box.replaceChildren(...document.importNode(fresh, true).childNodes);
      sayTimes(box);
      box.ariaBusy = "false";
    } catch {
      box.ariaBusy = "true"; // the shown values are old; the next refresh tries again
    }
  }
  setTimeout(renew, EVERY_MS);
}

if (box && renews) {
  renews.parentElement.hidden = false;
  setTimeout(renew, EVERY_MS);
}
