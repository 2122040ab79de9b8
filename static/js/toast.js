/**
 * Notes at the foot of the page, announced by screen readers: a short note, which the next note replaces, and below it
 * the lasting state of the page.
 */

import { make, word } from "./words.js";

const box = make("div", { className: "notes", role: "status" });
/** An open dialog covers the page, so the notes are in it. */
const place = () => ([...document.querySelectorAll("dialog[open]")].at(-1) ?? document.body).append(box);
place();
document.addEventListener("close", place, true);
let note;
let state;
let timer;
let onGone;

/**
 * @param {{stay?: boolean, href?: string, undo?: () => void, gone?: () => void}} how `href` makes the note a link.
 * `gone` is called when the note leaves, also with the page, unless it was undone.
 */
export function toast(text, { stay = false, href = "", undo, gone } = {}) {
  clearToast();
  onGone = gone;
  note = make(href ? "a" : "p", { className: "toast", textContent: text });
  if (href) note.href = href;
  if (undo) {
    const button = make("button", { type: "button", className: "undo", textContent: word("undo") });
    button.setAttribute("aria-keyshortcuts", "Control+Z");
    button.onclick = () => {
      onGone = null;
      clearToast();
      undo();
    };
    note.append(" ", button);
  }
  place();
  box.prepend(note);
  if (!stay) timer = setTimeout(fade, 5000);
}

/** A note stays while the pointer or the focus is on it. */
function fade() {
  if (note.matches(":hover, :focus-within")) timer = setTimeout(fade, 1000);
  else clearToast();
}

export function clearToast() {
  clearTimeout(timer);
  note?.remove();
  onGone?.();
  onGone = null;
}

addEventListener("keydown", ({ key, ctrlKey, metaKey, target }) => {
  if (key === "z" && (ctrlKey || metaKey) && !target.closest("input, textarea")) note?.querySelector(".undo")?.click();
});
const leave = () => onGone && clearToast();
addEventListener("pagehide", leave);
document.addEventListener("visibilitychange", () => document.hidden && leave());

/** Show the state until it ends ("" ends it). */
export function showState(text) {
  state?.remove();
  if (!text) return;
  state = make("p", { className: "state", textContent: text });
  box.append(state);
}
