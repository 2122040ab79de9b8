/**
 * The number of unread notifications. A new notification increases it at once. The server's count replaces it a moment
 * later, when the page becomes visible, and after reading.
 */

import { versionShown } from "./edits.js";
import { send, shownId } from "./send.js";
import { Subscription } from "./socket.js";
import { sayInTitle } from "./title.js";
import { clearToast, toast } from "./toast.js";
import { number, word } from "./words.js";

const MOST = 99;
const MOST_WATCHED = 100;
const SOON = 1500; // ms; several new notifications cause one request
const SEEN = 1000; // ms for which the notifications page is visible before it counts as read

class Badge {
  #count = 0;
  #known = new Set();
  #timer = 0;

  constructor(link) {
    this.box = link.querySelector("[data-badge]");
    this.fresh = document.querySelector("[data-fresh-notifications]");
    const newest = link.dataset.notifications || undefined; // absent on the response to a form, which has no count
    this.subscription = new Subscription("notifications", newest, this);
    const shown = this.box.textContent;
    this.#say(shown.endsWith("+") ? MOST + 1 : Number(shown));
    if (!newest) this.#askSoon();
  }

  start() {
    if ("WebSocket" in window) this.subscription.start();
    document.addEventListener("visibilitychange", () => document.hidden || this.#askSoon());
    addEventListener("pageshow", (event) => event.persisted && this.#askSoon());
    const form = document.querySelector("form[data-read]");
    if (form) this.#readWhenSeen(form);
  }

  message({ type, id }) {
    if (type === "gap") this.#askSoon();
    if (type === "deleted" && this.#count) this.#askSoon();
    if (type !== "entry" || this.#known.has(id) || Number(id) <= Number(this.subscription.last)) return;
    this.#known.add(id);
    this.subscription.saw(id);
    this.#say(this.#count + 1);
    if (this.fresh) this.fresh.hidden = false;
    this.#askSoon();
  }

  /** The server reports which posts of the notifications page were edited. */
  up() {
    const posts = document.querySelectorAll("[data-notification-id] article[data-post-id]");
    const ids = [...new Set([...posts].map(shownId))].slice(0, MOST_WATCHED);
    if (ids.length) this.subscription.tell({ type: "watch", ids, versions: ids.map(versionShown) });
  }

  signedOut() {
    clearTimeout(this.#timer);
    clearToast();
    toast(word("signedOut"), { stay: true, href: `/accounts/login/?next=${encodeURIComponent(location.pathname)}` });
  }

  #say(count) {
    this.#count = count;
    this.box.textContent = count > MOST ? `${MOST}+` : number(count);
    this.box.hidden = !count;
    sayInTitle("notifications", Math.min(count, MOST), count > MOST);
  }

  #askSoon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#ask(), SOON * (0.5 + Math.random() / 2));
  }

  async #ask() {
    const answer = await fetch("/notifications/unread/", { headers: { Accept: "application/json" } }).catch(() => ({}));
    if (answer.ok) this.#say((await answer.json()).unread);
  }

  /** Rows stay marked as new until the page is loaded again. */
  #readWhenSeen(form) {
    const read = async () => {
      if (document.hidden) return;
      document.removeEventListener("visibilitychange", wait);
      const { ok, data } = await send(form.action, new FormData(form), { keepalive: true });
      if (!ok) return;
      this.#say(data.unread);
      form.hidden = true;
    };
    const wait = () => setTimeout(read, SEEN);
    document.addEventListener("visibilitychange", wait);
    wait();
  }
}

export function keepBadge() {
  const link = document.querySelector("[data-notifications]");
  if (link) new Badge(link).start();
}
