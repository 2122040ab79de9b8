/**
 * The entries of one `<ol>`: inserted by id (newest first), never twice, and removed without losing focus.
 * Ids are below 2^53, so numbers compare them exactly.
 */

import { applyEdit } from "./edits.js";
import { join, removeRow, separate } from "./joined.js";
import { postOf, postsIn, showingsOf } from "./send.js";
import { sayTimes } from "./times.js";
import { make } from "./words.js";

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

  /** Insert an entry by id, or directly below a row. Returns false if it is there already or was deleted. */
  insert(article, row = null) {
    const id = article.dataset.postId;
    if (this.has(id) || this.#gone.has(article.dataset.boostOf)) return false;
    const item = asItem(article);
    if (row) row.after(item);
    else this.#place(item, Number(id));
    sayTimes(item);
    applyEdit(postsIn(item)[0]);
    join(join(item).previousElementSibling);
    document.querySelector("[data-empty]")?.remove();
    return true;
  }

  /** Insert a row below all entries newer than `after`: a gap. */
  insertGap(row, after) {
    row.dataset.gapAfter = after;
    this.#place(row, Number(after));
  }

  /** Remove a post for good: a replay does not insert it again. */
  remove(id) {
    this.#gone.add(id);
    for (const article of showingsOf(this.list, id)) takeOut(article);
  }

  /** Insert the line above the posts that the reader knows. There is at most one. */
  markHere(text) {
    this.list.querySelector(":scope > .here")?.remove();
    const first = this.list.querySelector(":scope > li");
    if (!first) return;
    first.before(make("li", { className: "here", textContent: text }));
  }

  #place(item, id) {
    for (const child of this.list.querySelectorAll(":scope > .joined")) separate(child, id);
    const older = [...this.list.children].find((child) => idOf(child) <= id);
    const here = older?.previousElementSibling;
    if (!older) this.list.append(item);
    else (here?.matches(".here") ? here : older).before(item);
  }
}

/** The newest id of an item; Infinity for the reader's marker. A gap counts as the post below it. */
function idOf(item) {
  const id = item.dataset.gapAfter ?? postsIn(item).at(-1)?.dataset.postId;
  return id === undefined ? Infinity : Number(id);
}

/** A filtered post moves with its fold. */
export function asItem(article) {
  const item = make("li", { className: "fresh" });
  item.append(article.closest("[data-filtered]") ?? article);
  if ("openWarnings" in document.body.dataset) item.querySelector(".warned")?.setAttribute("open", "");
  return item;
}

/** Focus a post that is not in the tab order. */
export function focusPost(article, options) {
  article.tabIndex = -1;
  article.focus(options);
}

export const rowOf = (article) => article.closest("li") ?? article;

/** If the row of a post has focus, give it to its neighbour. */
export function passFocus(article) {
  const all = postsIn(document);
  const at = all.indexOf(article);
  if (!rowOf(article).contains(document.activeElement)) return;
  const next = all[at + 1] ?? all[at - 1];
  if (next) focusPost(next, { preventScroll: true });
  else document.getElementById("main")?.focus({ preventScroll: true });
}

/** Remove a post's row. */
export function takeOut(article) {
  const item = rowOf(article);
  passFocus(article);
  item.classList.add("leaving");
  setTimeout(() => removeRow(item), 180);
}
