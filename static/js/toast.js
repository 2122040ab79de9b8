/**
 * Notes at the foot of the page, announced by screen readers: a short note, which the next note replaces, and below it
 * the lasting state of the page.
 */

import { word } from "./words.js";

const box = document.createElement("div");
box.className = "notes";
box.setAttribute("role", "status");
document.body.append(box);
let note;
let state;
let timer;

/** @param {{stay?: boolean, href?: string, undo?: () => void}} how `href` makes the note a link */
export function toast(text, { stay = false, href = "", undo } = {}) {
  clearToast();
  note = document.createElement(href ? "a" : "p");
  note.className = "toast";
  note.textContent = text;
  if (href) note.href = href;
  if (undo) {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "undo", textContent: word("undo") });
    button.addEventListener("click", () => (clearToast(), undo()));
    note.append(" ", button);
  }
  box.prepend(note);
  if (!stay) timer = setTimeout(clearToast, 5000);
}

export function clearToast() {
  clearTimeout(timer);
  note?.remove();
}

/** Show the state until it ends ("" ends it). */
export function showState(text) {
  state?.remove();
  if (!text) return;
  state = Object.assign(document.createElement("p"), { className: "state", textContent: text });
  box.append(state);
}
