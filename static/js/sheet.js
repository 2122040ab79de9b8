/**
 * Shows a composer as a dialog: on a phone it has the whole window, with Post on top and its tools above the keyboard.
 * Back, Escape and Cancel close it; what was typed stays a draft.
 */

import { openLayer } from "./layers.js";

/** Move a form into a dialog until it is closed. `about`: the post that it answers, or nothing. */
export function openSheet(form, about) {
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
  openLayer(dialog);
  form.elements.namedItem("text").focus();
  dialog.addEventListener("close", () => {
    kinds.forEach((kind) => visualViewport.removeEventListener(kind, fit));
    head.hidden = true;
    place.replaceWith(form);
    dialog.remove();
    opener?.focus({ preventScroll: true });
  });
}

/** Load the style sheets of another page that this page lacks. */
function loadStyles(from) {
  const isNew = (link) => !document.querySelector(`link[href="${link.getAttribute("href")}"]`);
  const links = [...from.querySelectorAll('head link[rel="stylesheet"]')].filter(isNew).map((link) => document.importNode(link, true));
  document.head.append(...links);
  return Promise.all(links.map((link) => new Promise((resolve) => (link.onload = link.onerror = resolve))));
}

/** Return the form of another page for this page: its ids are made different. Throws if that page has none. */
export async function adoptForm(from) {
  const form = document.importNode(from.querySelector("form[data-composer]"), true);
  const rename = (text) => text.replace(/[\w-]+/g, "sheet-$&");
  for (const name of ["id", "for", "aria-describedby", "list"])
    for (const element of form.querySelectorAll(`[${name}]`)) element.setAttribute(name, rename(element.getAttribute(name)));
  await loadStyles(from);
  return form;
}

/** Return a short copy of a post, to be read while it is answered. */
export function aboutPost(article) {
  const copy = document.createElement("blockquote");
  copy.className = "sheet-about";
  const parts = [".post-head .post-author", ".warned > summary, .post-text"].map((selector) => article.querySelector(selector)?.cloneNode(true));
  copy.append(...parts.filter(Boolean));
  for (const element of copy.querySelectorAll("[id]")) element.removeAttribute("id");
  for (const link of copy.querySelectorAll("a")) link.replaceWith(...link.childNodes);
  return copy;
}
