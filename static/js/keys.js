/** Keyboard shortcuts. The dialog that `?` opens turns them off. */

import { openLayer } from "./layers.js";
import { shownPosts } from "./send.js";
import { stored } from "./storage.js";
import { focusPost } from "./timeline.js";

const dialog = document.getElementById("shortcuts");
const isOff = () => stored.read("shortcuts-off") === "yes";

/** Move focus by `step` posts from the focused post, or from the first visible one. */
function walk(step) {
  const all = shownPosts(document);
  const at = all.indexOf(document.activeElement?.closest("article[data-post-id]"));
  const seen = all.findIndex((post) => post.getBoundingClientRect().top > 40);
  const post = all[at === -1 ? Math.max(0, seen) : Math.min(all.length - 1, Math.max(0, at + step))];
  if (!post) return;
  focusPost(post, { preventScroll: true });
  post.scrollIntoView({ block: "nearest" });
}

const go = (path) => location.assign(path);
const { handle } = document.body.dataset;
const press = (selector) => document.activeElement?.closest("article")?.querySelector(selector)?.click();
const act = (name) => press(`:scope > .post-actions [data-act="${name}"]`);

const keys = {
  j: () => walk(1),
  k: () => walk(-1),
  n: () => document.querySelector("a[data-compose]")?.click(),
  r: () => press(".post-actions a"),
  o: () => press(".post-time"),
  f: () => act("like"),
  b: () => act("boost"),
  m: () => act("bookmark"),
  x: () => press(".warned > summary"),
  "/": () => go("/search/#search-query"),
  ".": () => document.dispatchEvent(new Event("posts:show")),
  h: () => go("/"),
  p: () => go("/public/"),
  l: () => handle && go("/lists/"),
  i: () => handle && go("/notifications/"),
};

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || document.querySelector("dialog[open]")) return;
  if (event.target.closest("input, textarea, select, [contenteditable]")) return;
  if (event.key === "?") openLayer(dialog);
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
  box.onchange = () => {
    stored.write("shortcuts-off", box.checked ? "" : "yes");
    box.checked = !isOff();
  };
  dialog.addEventListener("command", (event) => {
    event.preventDefault();
    openLayer(dialog);
  });
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
}
