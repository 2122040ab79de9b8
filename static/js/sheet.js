/**
 * Shows a composer as a dialog: on a phone it has the whole window, with Post on top and its tools above the keyboard.
 * Back, Escape and Cancel close it; what was typed stays a draft.
 */

import { openLayer } from "./layers.js";

/** Move a form into a dialog until it is closed. `about`: the answered post, or nothing. `save` stores its draft. */
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
  const view = visualViewport;
  const fit = () => {
    if (view.scale > 1.01) return; // zoomed: keep the size
    dialog.style.setProperty("--seen", `${view.height}px`);
    dialog.style.setProperty("--above", `${view.offsetTop}px`);
  };
  fit();
  view.onresize = view.onscroll = fit;
  head.querySelector("button").onclick = () => dialog.close();
  head.querySelector("a").onclick = async (event) => {
    event.preventDefault();
    await save();
    location.assign(event.target.href);
  };
  if (location.hash) history.replaceState(history.state, "", "."); // a reload opens no sheet
  openLayer(dialog);
  form.elements.text.focus();
  dialog.onclose = () => {
    view.onresize = view.onscroll = null;
    head.hidden = true;
    place.replaceWith(form);
    dialog.remove();
    const menu = opener?.closest(".menu");
    if (menu) menu.open = false;
    (menu?.firstElementChild ?? opener)?.focus({ preventScroll: true });
    save();
  };
}
