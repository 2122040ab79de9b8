/** A short note at the foot of the page, announced by screen readers. The next note replaces it. */

const box = document.createElement("div");
box.setAttribute("role", "status");
document.body.append(box);
let timer;

/** @param {{stay?: boolean, href?: string}} how `href` makes the note a link */
export function toast(text, { stay = false, href = "" } = {}) {
  clearTimeout(timer);
  const note = document.createElement(href ? "a" : "p");
  note.className = "toast";
  note.textContent = text;
  if (href) note.href = href;
  box.replaceChildren(note);
  if (!stay) timer = setTimeout(clearToast, 5000);
}

export const clearToast = () => box.replaceChildren();
