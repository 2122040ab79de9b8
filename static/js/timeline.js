/**
 * The entries of one `<ol>`: put in by id (newest first), never twice, taken out with care for focus.
 * Ids are below 2^53, so numbers compare them exactly.
 */

import { postOf, postsIn, showingsOf } from "./send.js";
import { sayTimes } from "./times.js";

export class Timeline {
  #gone = new Set();

  /** @param {HTMLOListElement} list */
  constructor(list) {
    this.list = list;
    this.name = list.dataset.timeline;
  }

  has(id) {
    return this.#gone.has(id) || postOf(this.list, id) !== null;
  }

  /** Put one entry in its place, or directly below a row; false when it stands there already or was deleted. */
  insert(article, row = null) {
    const id = article.dataset.postId;
    if (this.has(id) || this.#gone.has(article.dataset.boostOf)) return false;
    const item = asItem(article);
    if (row) row.after(item);
    else this.#place(item, Number(id));
    sayTimes(item);
    document.querySelector("[data-empty]")?.remove();
    return true;
  }

  /** A row below everything newer than `after`: the place of posts that are not shown. */
  insertGap(row, after) {
    row.dataset.gapAfter = after;
    this.#place(row, Number(after));
  }

  /** Forget a post for good: a replay does not bring it back. */
  remove(id) {
    this.#gone.add(id);
    for (const article of showingsOf(this.list, id)) takeOut(article);
  }

  /** The line that tells the reader where the known posts begin; only one at a time. */
  markHere(text) {
    this.list.querySelector(":scope > .here")?.remove();
    const first = this.list.querySelector(":scope > li");
    if (!first) return;
    const line = document.createElement("li");
    line.className = "here";
    line.textContent = text;
    first.before(line);
  }

  get newest() {
    return postsIn(this.list)[0]?.dataset.postId ?? "0";
  }

  #place(item, id) {
    const older = [...this.list.children].find((child) => idOf(child) <= id);
    const here = older?.previousElementSibling;
    if (!older) this.list.append(item);
    else (here?.matches(".here") ? here : older).before(item);
  }
}

/** Rows without a post (the reader's mark) are passed over; a gap stands for the post below it. */
function idOf(item) {
  const id = item.dataset.gapAfter ?? item.querySelector("article[data-post-id]")?.dataset.postId;
  return id === undefined ? Infinity : Number(id);
}

/** A filter's fold comes along with its post. */
function asItem(article) {
  const item = document.createElement("li");
  item.className = "fresh";
  item.append(document.importNode(article.closest("[data-filtered]") ?? article, true));
  return item;
}

/** Give focus to a post that is not in the tab order. */
export function focusPost(article, options) {
  article.tabIndex = -1;
  article.focus(options);
}

/** Remove a post's row; where focus was in it, the neighbour takes it over. */
export function takeOut(article) {
  const item = article.closest("li") ?? article;
  const all = postsIn(document);
  const at = all.indexOf(article);
  if (item.contains(document.activeElement)) {
    const next = all[at + 1] ?? all[at - 1];
    if (next) focusPost(next, { preventScroll: true });
    else document.getElementById("main")?.focus({ preventScroll: true });
  }
  item.classList.add("leaving");
  setTimeout(() => item.remove(), 180);
}
