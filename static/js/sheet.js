/**
 * Shows a composer as a dialog: on a phone it has the whole window, with Post on top and its tools above the keyboard.
 * Back, Escape and Cancel close it; what was typed stays a draft.
 */

import { openLayer } from "./layers.js";

/** Move a form into a dialog until it is closed. `about`: the post that it answers, or nothing. `save` stores its draft. */
export function openSheet(form, about, save) {
  const opener = document.activeElement;
  const place = document.createComment("");
  const dialog = Object.assign(document.createElement("dialog"), { className: "sheet", ariaLabel: form.querySelector("label").textContent });
  const head = form.querySelector(".sheet-head");
  form.before(place);
  if (about) dialog.append(about);
  dialog.append(form);
  document.body.append(dialog);
  head.hidden = false;
  const fit = () => {
    if (visualViewport.scale > 1.01) return; // somebody zooms: the sheet keeps its size
    dialog.style.setProperty("--seen", `${visualViewport.height}px`);
    dialog.style.setProperty("--above", `${visualViewport.offsetTop}px`);
  };
  const kinds = ["resize", "scroll"];
  fit();
  kinds.forEach((kind) => visualViewport.addEventListener(kind, fit));
  head.querySelector("button").onclick = () => dialog.close();
  head.querySelector("a").onclick = async (event) => {
    event.preventDefault();
    await save();
    location.assign(event.target.href);
  };
  openLayer(dialog);
  form.elements.text.focus();
  dialog.onclose = () => {
    kinds.forEach((kind) => visualViewport.removeEventListener(kind, fit));
    head.hidden = true;
    place.replaceWith(form);
    dialog.remove();
    opener?.focus({ preventScroll: true });
    save();
  };
}
