/** A thread of one author is one item. Its posts are rows in reading order (timelines/_joined.html). */

import { postsIn } from "./send.js";
import { word } from "./words.js";

const rowsOf = (item) => (item.matches(".joined") ? postsIn(item).map((post) => post.closest("li")) : [item]);
const emptyItem = () => document.getElementById("joined").content.firstElementChild.cloneNode(true);

/** Put rows into an item: the first, those that a button opens, the last. Focus stays. */
function arrange(item, rows) {
  const more = item.querySelector(".joined-more");
  const details = more.firstElementChild;
  const [summary, list] = details.children;
  const middle = rows.slice(1, -1);
  const focused = document.activeElement;
  if (more.previousElementSibling !== rows[0]) more.before(rows[0]);
  if (more.nextElementSibling !== rows.at(-1)) more.after(rows.at(-1));
  if (middle.some((row, at) => row !== list.children[at])) list.append(...middle);
  more.hidden = !middle.length;
  summary.textContent = word("more", middle.length);
  if (list.contains(focused)) details.open = true;
  if (item.contains(focused)) focused.focus({ preventScroll: true });
  return item;
}

const itemOf = (rows) => (rows.length > 1 ? arrange(emptyItem(), rows) : rows[0]);
const keep = (item, rows) => (rows.length > 1 ? arrange(item, rows) : item.replaceWith(...rows));

/** Join an item and the one below if its first post answers the newest one there. Returns the joined item. */
export function join(item) {
  const below = item?.nextElementSibling;
  const first = item && postsIn(item)[0]?.dataset;
  const last = below && postsIn(below).at(-1)?.dataset;
  if (!first || !last || first.replyTo !== last.postId || first.author !== last.author) return item;
  const joined = below.matches(".joined") ? below : emptyItem();
  const rows = [...rowsOf(below), ...rowsOf(item)];
  if (joined !== below) below.before(joined);
  arrange(joined, rows);
  if (item.matches(".joined")) item.remove();
  return joined;
}

/** Separate the posts newer than `id`: another entry is inserted between. */
export function separate(item, id) {
  const rows = rowsOf(item);
  const newer = rows.filter((row) => Number(postsIn(row)[0].dataset.postId) > id);
  if (!newer.length || newer.length === rows.length) return;
  item.before(itemOf(newer));
  keep(item, rows.slice(0, -newer.length));
}

export function removeRow(row) {
  const item = row.parentElement?.closest(".joined");
  row.remove();
  if (item) keep(item, rowsOf(item));
}
