/** Actions without a new page: deleting, following, loading more entries, closing a menu. */

import { noteChange } from "./backforward.js";
import { addLayer, leaveLayers } from "./layers.js";
import { page, postsIn, send, showingsOf } from "./send.js";
import { attempt } from "./storage.js";
import { Timeline, focusPost, passFocus, rowOf, takeOut } from "./timeline.js";
import { sayTimes } from "./times.js";
import { toast } from "./toast.js";
import { word } from "./words.js";

leaveLayers(); // before a composer opens one

/** Note a deletion until it is answered; the next page of this tab repeats it. Other tabs may still show "Undo". */
const note = (path) => attempt(() => (sessionStorage.deleting = path));

/** Hide a post, and delete it when the note leaves. Until then it can be shown again. */
function deletePost(button) {
  const article = button.closest("article");
  const path = button.formAction;
  const showings = [...showingsOf(document, article.dataset.postId)];
  const hide = (isHidden) => showings.forEach((each) => (rowOf(each).hidden = isHidden));
  passFocus(article);
  closeMenus();
  hide(true);
  note(path);
  const undo = () => {
    note("");
    hide(false);
    focusPost(article);
  };
  toast(word("deleted"), { undo, gone: () => finishDeletion(path, showings, hide) });
}

async function finishDeletion(path, showings, hide) {
  noteChange();
  const { ok, status, data } = await send(path, {}, { keepalive: true });
  note("");
  if (ok || status === 404) return showings.some((each) => each.closest(".thread-post")) ? location.replace("/") : showings.forEach(takeOut);
  hide(false);
  toast(data.message || word("notDone"));
}

/** Follow or unfollow, then replace the button and the counts by those of a fresh page. */
async function follow(button) {
  const { ok, data } = await send(button.formAction);
  if (!ok) return toast(data.message || word("notDone"));
  const suggestions = button.closest("[data-suggestions], [data-aside-people] ul");
  if (suggestions && data.following) return refill(suggestions, button);
  const fresh = await page(location.href);
  const handle = CSS.escape(button.dataset.follow);
  const other = fresh.querySelector(`[data-follow="${handle}"]`);
  if (other) {
    other.classList.add("just"); // no "Unfollow" under the pointer that has just followed
    other.addEventListener("pointerleave", () => other.classList.remove("just"), { once: true });
    button.replaceWith(other);
    other.focus();
  } else takeOut(button); // an accepted suggestion
  if (!data.following && button.formAction.endsWith("/unfollow/"))
    toast(word("unfollowed").replace("{name}", () => `@${button.dataset.follow}`), {
      undo: () => document.querySelector(`[data-follow="${handle}"]`)?.click(),
    });
  const counted = fresh.querySelector(".counts");
  if (counted) document.querySelector(".counts")?.replaceWith(counted);
}

/** Replace the suggestions after a follow, and insert the account's posts into home. */
async function refill(suggestions, button) {
  const { follow: handle } = button.dataset;
  const name = button.closest("li").querySelector(".name").textContent;
  const isHome = document.querySelector('ol[data-timeline="home"]') && !document.querySelector('a[rel="prev"]');
  const [home, more] = await Promise.all([isHome && page(location.pathname), page("/accounts/suggestions/?limit=3")]);
  const items = [...more.querySelectorAll("ul.accounts > li")];
  if (suggestions.closest("aside")) items.forEach((item) => item.querySelector(".btn")?.classList.add("btn-quiet", "btn-small"));
  suggestions.replaceChildren(...items);
  if (!items.length) suggestions.closest("section").remove();
  const count = home ? fillHome(home, handle) : 0;
  toast(word(...(count ? ["homeFilled", count] : ["homeUnchanged"])).replace("{name}", () => name));
  (suggestions.querySelector("[data-follow]") ?? document.getElementById("main")).focus({ preventScroll: true });
}

/** Insert the posts that a new copy of home has and this page lacks. Returns the number of posts by `handle`. */
function fillHome(home, handle) {
  const [frame, theirs] = [document, home].map((root) => root.querySelector(".timeline-frame"));
  const timeline = new Timeline(frame.querySelector("ol[data-timeline]"));
  const inserted = postsIn(theirs).filter((article) => timeline.insert(article));
  const [end, theirEnd] = [frame, theirs].map((root) => root.querySelector(":scope > :is(nav:has([rel=next]), .end)"));
  if (theirEnd && !end) timeline.list.after(theirEnd);
  document.dispatchEvent(new Event("posts:more"));
  return inserted.filter(({ dataset }) => dataset.author === handle).length;
}

/** Append the next older page. The address and the scroll position stay. */
export async function loadOlder(link) {
  const lists = "ol[data-timeline], ol[data-replies], ul.accounts";
  const list = document.querySelector(lists);
  const found = await page(link.href);
  const theirs = found.querySelector(lists);
  if (!list || !theirs) return location.assign(link.href);
  const known = new Set(postsIn(list).map((post) => post.dataset.postId));
  const items = [...theirs.children].filter((item) => !known.has(item.querySelector("article[data-post-id]")?.dataset.postId));
  list.append(...items);
  sayTimes(list);
  const hadFocus = link === document.activeElement;
  const next = found.querySelector('a[rel="next"]');
  const pager = link.closest(".pager");
  if (next) link.replaceWith(next);
  else pager.replaceWith(found.querySelector(".end") ?? "");
  const first = items[0]?.querySelector("article, a");
  if (first && hadFocus) focusPost(first, { preventScroll: true });
  document.dispatchEvent(new Event("posts:more"));
}

/** Run `act` once at a time. If it fails, submit the form without JavaScript. */
async function inPlace(element, act, plain) {
  if (element.ariaBusy === "true") return;
  element.ariaBusy = "true";
  try {
    await act(element);
  } catch {
    plain();
  }
  element.ariaBusy = "false";
}

let leave; // an open menu's entry in the history
const openMenu = () => document.querySelector("details.menu[open]");

function closeMenus(except) {
  for (const menu of document.querySelectorAll("details.menu[open]")) if (menu !== except) menu.open = false;
}

function onClick(event) {
  const inMenu = event.target.closest("details.menu");
  if (leave && !inMenu && event.target.closest("a")) event.preventDefault(); // a tap beside a menu closes it
  if (event.isTrusted) closeMenus(inMenu);
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  const button = event.target.closest("button[data-delete], button[data-follow]");
  const next = event.target.closest('.pager a[rel="next"]');
  if (button) {
    event.preventDefault();
    inPlace(button, button.dataset.delete ? deletePost : follow, () => location.reload());
  } else if (next) {
    event.preventDefault();
    inPlace(next, loadOlder, () => location.assign(next.href));
  }
}

/** On a phone, Back closes a menu. Another menu that opens instead keeps its entry. */
function showMenu({ target }) {
  if (!openMenu()) leave = leave?.();
  else if (matchMedia("(width < 44rem)").matches) leave ??= addLayer(closeMenus);
  if (target.open) target.closest(".menu")?.querySelector(".menu-body").scrollIntoView({ block: "nearest" });
}

function onEscape(event) {
  const menu = event.key === "Escape" && openMenu();
  if (!menu) return;
  closeMenus();
  menu.querySelector("summary").focus();
}

/** The second click of a double click sends no form again. */
function sendOnce(event) {
  if (event.detail > 1 && event.target.closest("button")?.form?.method === "post") event.preventDefault();
}

export function enhanceActions() {
  const deleting = attempt(() => sessionStorage.deleting);
  if (deleting) finishDeletion(deleting, [...showingsOf(document, deleting.match(/\d+/)[0])], () => {});
  document.addEventListener("click", onClick);
  document.addEventListener("click", sendOnce);
  document.addEventListener("keydown", onEscape);
  document.addEventListener("toggle", showMenu, true);
  addEventListener("pagehide", () => closeMenus());
  const passwords = document.querySelectorAll("input[type=password]");
  if (passwords.length) import("./reveal.js").then(({ addReveal }) => passwords.forEach(addReveal));
}
