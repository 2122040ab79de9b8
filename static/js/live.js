/**
 * Live entries wait until the reader shows them, so that the page does not move. Only the reader's own posts and boosts
 * from this page, and the replacement of a deleted boost, do not. A gap is a row that loads missed entries.
 */

import { versionShown } from "./edits.js";
import { isBoostedHere, showCounts } from "./reactions.js";
import { page, parse, postOf, postsIn, shownId } from "./send.js";
import { Subscription } from "./socket.js";
import { Timeline, focusPost } from "./timeline.js";
import { sayInTitle } from "./title.js";
import { toast } from "./toast.js";
import { make, word } from "./words.js";

const MOST_HELD = 200; // with more, the pill reloads the page
const MOST_WATCHED = 100;
const VACANT = 5000; // ms after a deletion in which the next boost replaces it

/** Return the path of another part of this timeline, with the choice of replies. */
function part(cursor) {
  const query = new URLSearchParams(cursor);
  const replies = new URLSearchParams(location.search).get("replies");
  if (replies) query.set("replies", replies);
  return query.size ? `${location.pathname}?${query}` : location.pathname;
}

class Live {
  #held = new Map(); // id -> html
  #gaps = [];
  #counts = new Map(); // post id -> its newest counts
  #vacant = new Map(); // original of a deleted boost -> time of the deletion
  #overflow = false;
  #isDown = false;

  constructor(list) {
    this.timeline = new Timeline(list);
    this.region = document.querySelector("[data-live-region]");
    this.subscription = new Subscription(list.dataset.live || this.timeline.name, list.dataset.newest || "0", this);
  }

  start() {
    this.subscription.start();
    document.addEventListener("post:published", ({ detail }) => {
      this.#held.delete(detail.article.dataset.postId);
      this.timeline.insert(detail.article);
      this.#showPill();
    });
    document.addEventListener("posts:show", () => this.#show());
    document.addEventListener("posts:more", () => this.#watch());
  }

  message(message) {
    if (message.type === "entry") this.#hold(message);
    else if (message.type === "deleted") this.#forget(String(message.id));
    else if (message.type === "counts") this.#count(message);
    else if (message.type === "gap") this.#gap(message);
  }

  up() {
    if (this.#isDown) toast(word("back"));
    this.#isDown = false;
    this.#watch();
  }

  down() {
    this.#isDown = true;
  }

  /** Watch the entries nearest to the visible ones. The server reports which were deleted or edited meanwhile. */
  #watch() {
    const away = (post) => Math.abs(post.getBoundingClientRect().top);
    const near = postsIn(this.timeline.list).flatMap((post) => [shownId(post), post.dataset.postId].map((id) => [away(post), id]));
    const ids = [...new Set(near.sort(([a], [b]) => a - b).map(([, id]) => id))].slice(0, MOST_WATCHED);
    if (ids.length) this.subscription.tell({ type: "watch", ids, versions: ids.map(versionShown) });
  }

  /** Queued entries get the counts when they are shown. */
  #count(message) {
    this.#counts.set(String(message.id), message);
    showCounts(message);
  }

  // New entries

  #hold({ id, html, timeline, author }) {
    if (timeline !== this.subscription.timeline) return;
    this.subscription.saw(String(id));
    if (html.includes("data-boost-of=") && this.#isDue(html, author)) return;
    if (this.#overflow || this.timeline.has(String(id)) || this.#isTooOld(id)) return;
    this.#held.set(String(id), html);
    this.#overflow = this.#held.size > MOST_HELD;
    if (this.#overflow) this.#held.clear();
    this.#showPill();
  }

  /** Is it a boost by a button of this page, or the replacement of another boost? */
  #isDue(html, author) {
    const [article] = postsIn(parse(html));
    const boostOf = article?.dataset.boostOf;
    const isOwn = author === document.body.dataset.handle && isBoostedHere(boostOf);
    if (!isOwn && !(Date.now() - this.#vacant.get(boostOf) < VACANT)) return false;
    this.#vacant.delete(boostOf);
    if (this.timeline.insert(article)) this.#watch();
    return true;
  }

  /** Is it on an older page? */
  #isTooOld(id) {
    const ids = postsIn(this.timeline.list).map((post) => Number(post.dataset.postId));
    return ids.length > 0 && Boolean(document.querySelector('a[rel="next"]')) && Number(id) < Math.min(...ids);
  }

  #gap({ after, newest }) {
    this.#gaps.push(String(after));
    this.subscription.saw(String(newest));
    this.#showPill();
  }

  #forget(id) {
    this.#held.delete(id);
    const original = postOf(this.timeline.list, id)?.dataset.boostOf;
    if (original) this.#vacant.set(original, Date.now());
    for (const [held, html] of this.#held) if (html.includes(`data-boost-of="${id}"`)) this.#held.delete(held);
    this.timeline.remove(id);
    this.#showPill();
  }

  #showPill() {
    const count = this.#held.size;
    const many = this.#overflow || this.#gaps.length > 0;
    sayInTitle("posts", many ? Math.max(count, 100) : count, many);
    if (!count && !many) return this.region.replaceChildren();
    const text = many ? word("newMany") : word("new", count);
    const pill = this.region.querySelector(".pill") ?? makePill(this.region, () => this.#show());
    pill.lastChild.textContent = text;
  }

  async #show() {
    if (this.#overflow) return location.assign(part(""));
    if (!this.#held.size && !this.#gaps.length) return;
    this.timeline.markHere(word("here"));
    const [held, gaps] = [[...this.#held.values()], this.#gaps];
    this.#held.clear(); // posts that arrive while a gap is filled are shown by the next click
    this.#gaps = [];
    for (const html of held) {
      const article = parse(html).querySelector("article[data-post-id]");
      if (article) this.timeline.insert(article);
    }
    this.#counts.forEach(showCounts);
    for (const after of gaps) {
      const row = this.#gapRow(after);
      if (row === this.timeline.list.firstElementChild) await this.#fill(row);
    }
    this.#watch();
    this.#showPill();
    document.dispatchEvent(new Event("posts:shown"));
    scrollTo({ top: 0 });
    const first = postsIn(this.timeline.list)[0];
    if (first) focusPost(first, { preventScroll: true });
  }

  // Gaps: loaded from either end, page by page, until both ends meet

  #gapRow(after) {
    const row = make("li", { className: "gap" });
    row.append(make("p", { textContent: word("gap") }), this.#gapButton(row, "gapUp"), this.#gapButton(row, "gapDown"));
    this.timeline.insertGap(row, after);
    return row;
  }

  #gapButton(row, name) {
    const button = make("button", { className: "btn btn-quiet btn-small", type: "button", textContent: word(name) });
    button.onclick = () => this.#fill(row, name, button);
    return button;
  }

  async #fill(row, name = "gapDown", button = row.lastChild) {
    if (row.ariaBusy === "true") return;
    row.ariaBusy = "true";
    button.textContent = word("loading");
    const upward = name === "gapUp";
    const above = row.previousElementSibling?.querySelector("article[data-post-id]")?.dataset.postId;
    const cursor = upward ? `after=${row.dataset.gapAfter}` : above ? `before=${above}` : "";
    try {
      this.#take(await page(part(cursor)), row, upward, Number(above ?? Infinity));
      button.textContent = word(name);
    } catch {
      button.textContent = word("loadFailed");
    }
    row.ariaBusy = "false";
  }

  #take(found, row, upward, above) {
    const after = Number(row.dataset.gapAfter);
    const articles = postsIn(found.querySelector("ol[data-timeline]") ?? found);
    const missing = articles.map((article) => [article, Number(article.dataset.postId)]).filter(([, id]) => id > after && id < above);
    missing.sort(([, a], [, b]) => b - a);
    if (upward && missing.length) {
      row.dataset.gapAfter = missing[0][1];
      missing.reverse(); // each is inserted directly below the row
    }
    const added = missing.filter(([article]) => this.timeline.insert(article, upward ? row : null)).map(([, id]) => String(id));
    const goesOn = found.querySelector(`a[rel="${upward ? "prev" : "next"}"]`);
    if (missing.length === articles.length && goesOn) return;
    if (row.contains(document.activeElement) && added.length) focusPost(postOf(this.timeline.list, added[0]));
    row.remove();
  }
}

/** The button that shows queued entries. */
export function makePill(region, show) {
  const pill = document.getElementById("pill").content.firstElementChild.cloneNode(true);
  pill.onclick = show;
  region.replaceChildren(pill);
  return pill;
}

export function goLive() {
  const list = document.querySelector("ol[data-timeline][data-live]");
  if (list && "WebSocket" in window) new Live(list).start();
}
