/** An open thread with live counts. A pill announces new replies, and inserts them at their places. */

import { versionShown } from "./edits.js";
import { makePill } from "./live.js";
import { showCounts } from "./reactions.js";
import { page, postOf, postsIn, shownId } from "./send.js";
import { Subscription } from "./socket.js";
import { focusPost, takeOut } from "./timeline.js";
import { sayTimes } from "./times.js";
import { word } from "./words.js";

const MOST_WATCHED = 100;

class Thread {
  #counted = new Map(); // post id -> number of replies shown or announced
  #fresh = 0;

  constructor(list) {
    this.list = list;
    this.region = document.querySelector("[data-live-region]");
    const { author } = document.querySelector(".thread-post article").dataset;
    // Every reader may subscribe to the author's profile; only the counts of posts on this page are used.
    this.subscription = new Subscription(`profile:${author}`, undefined, this);
  }

  message(message) {
    const id = String(message.id);
    const gone = message.type === "deleted" && postOf(this.list, id);
    if (gone) takeOut(gone);
    if (message.type !== "counts") return;
    if (this.#counted.has(id)) this.#fresh += Math.max(0, message.counts.replies - this.#counted.get(id));
    this.#counted.set(id, message.counts.replies);
    showCounts(message);
    this.#offer();
  }

  up() {
    this.#watch();
  }

  #watch() {
    const posts = postsIn(document).slice(0, MOST_WATCHED);
    for (const post of posts) {
      const shown = Number(post.querySelector('[data-count="replies"]')?.textContent.replace(/\D/g, "") || 0);
      if (!this.#counted.has(shownId(post))) this.#counted.set(shownId(post), shown);
    }
    const ids = posts.map(shownId);
    if (ids.length) this.subscription.tell({ type: "watch", ids, versions: ids.map(versionShown) });
  }

  /** The composer has inserted the reader's own reply already. */
  #offer() {
    const own = this.list.querySelectorAll(":scope > li.fresh:not([data-known])").length;
    const count = this.#fresh - own;
    if (count < 1) return this.region.replaceChildren();
    const pill = this.region.querySelector(".pill") ?? makePill(this.region, () => this.#show());
    pill.lastChild.textContent = word("reply", count);
  }

  async #show() {
    const found = await page(location.href).catch(() => null);
    if (!found) return location.reload();
    const added = this.#take([...found.querySelectorAll("[data-replies] > li")]);
    const next = found.querySelector('.pager a[rel="next"]')?.closest(".pager");
    if (next && !document.querySelector('.pager a[rel="next"]')) this.list.after(next);
    document.getElementById("replies-title")?.classList.remove("sr");
    for (const item of this.list.querySelectorAll(":scope > li.fresh")) item.dataset.known = "";
    this.#fresh = 0;
    this.#offer();
    this.#watch();
    sayTimes(this.list);
    if (added[0]) focusPost(added[0]);
  }

  /** Insert each missing post after the post that precedes it on the loaded page. */
  #take(items) {
    let before = null;
    const added = [];
    for (const item of items) {
      const id = item.querySelector("article[data-post-id]")?.dataset.postId;
      if (!id) continue;
      const here = postOf(this.list, id)?.closest("li");
      const put = here ?? item;
      if (!here) {
        put.classList.add("fresh");
        if (before) before.after(put);
        else this.list.prepend(put);
        added.push(put.querySelector("article"));
      }
      before = put;
    }
    return added;
  }
}

export function followThread() {
  const list = document.querySelector("ol[data-replies]");
  if (!list) return;
  const post = document.querySelector(".thread-parent + .thread-post");
  if (post && !location.hash && !CSS.supports("scroll-initial-target", "nearest")) post.scrollIntoView();
  if ("WebSocket" in window && document.querySelector(".thread-post article")) new Thread(list).subscription.start();
}
