/** Keyboard shortcuts. The dialog that `?` opens turns them off. */

import { postsIn } from "./send.js";
import { focusPost } from "./timeline.js";

const OFF = "shortcuts-off";
const dialog = document.getElementById("shortcuts");
const isOff = () => {
  try {
    return localStorage.getItem(OFF) === "yes";
  } catch {
    return false;
  }
};

/** Move focus by `step` posts from the focused post, or from the first visible one. */
function walk(step) {
  const all = postsIn(document);
  const at = all.indexOf(document.activeElement?.closest("article[data-post-id]"));
  const seen = all.findIndex((post) => post.getBoundingClientRect().top > 40);
  const post = all[at === -1 ? Math.max(0, seen) : Math.min(all.length - 1, Math.max(0, at + step))];
  if (!post) return;
  focusPost(post, { preventScroll: true });
  post.scrollIntoView({ block: "nearest" });
}

function go(path) {
  location.assign(path);
}

const isSignedIn = () => document.body.dataset.signedIn === "yes";
const act = (name) => document.activeElement?.closest("article")?.querySelector(`:scope > .post-actions [data-act="${name}"]`)?.click();

const keys = {
  j: () => walk(1),
  k: () => walk(-1),
  n: () => document.querySelector("a[data-compose]")?.click(),
  r: () => document.activeElement?.closest("article")?.querySelector(".post-actions a")?.click(),
  o: () => document.activeElement?.closest("article")?.querySelector(".post-time")?.click(),
  f: () => act("like"),
  b: () => act("boost"),
  m: () => act("bookmark"),
  x: () => document.activeElement?.closest("article")?.querySelector(".warned > summary")?.click(),
  "/": () => go("/search/"),
  ".": () => document.dispatchEvent(new Event("posts:show")),
  h: () => go("/"),
  p: () => go("/public/"),
  l: () => isSignedIn() && go("/lists/"),
  i: () => isSignedIn() && go("/notifications/"),
};

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || dialog?.open) return;
  if (event.target.closest("input, textarea, select, [contenteditable]")) return;
  if (event.key === "?") dialog?.showModal();
  else if (keys[event.key] && !isOff()) {
    event.preventDefault();
    keys[event.key]();
  }
}

export function enhanceKeys() {
  if (!dialog) return;
  document.addEventListener("keydown", onKey);
  const box = dialog.querySelector("input");
  box.checked = !isOff();
  box.addEventListener("change", () => {
    try {
      localStorage.setItem(OFF, box.checked ? "no" : "yes");
    } catch {
      box.checked = true;
    }
  });
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
}
