/** The dashboard of staff renews itself: the same page, of which one part is taken. It stops when nobody looks. */

import { page } from "./send.js";
import { sayTimes } from "./times.js";

const EVERY_MS = 5_000;
const box = document.getElementById("ops-live");
const renews = document.querySelector("[data-renew]");

/** Not while somebody works in it: focus and selections would be lost. */
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
      box.ariaBusy = "true"; // what stands there is old; the next turn tries again
    }
  }
  setTimeout(renew, EVERY_MS);
}

if (box && renews) {
  renews.parentElement.hidden = false;
  setTimeout(renew, EVERY_MS);
}
