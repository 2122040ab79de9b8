/**
 * The page's socket. After a lost connection, after sleep, and from the back-forward cache it subscribes with the last
 * id of each timeline, so that missed entries are replayed.
 */

import { showEdited, showQuote } from "./edits.js";
import { showPoll } from "./polls.js";
import { showState } from "./toast.js";
import { word } from "./words.js";

const FIRST_WAIT = 1000; // ms; doubled with each failure
const LONGEST_WAIT = 60_000;
const DOUBTS = [1000, 4000]; // ms to wait for an answer: the first is enough unless it is slow
const TICK = 5000;
const ASLEEP = 20_000; // a tick this late means that the machine slept
const SILENCE = 120_000; // ms without a message after which the connection is tested
const PATIENCE = 10_000;
const SIGNED_OUT = 4401;
const TOO_MANY = 4429;

class Connection {
  #subscriptions = new Set();
  #socket = null;
  #failures = 0;
  #doubts = 0;
  #doubted = 0;
  #isStarted = false;
  #timer = 0;
  #over = false;
  #ticked = Date.now();
  #heard = Date.now();
  #asked = 0;

  add(subscription) {
    this.#subscriptions.add(subscription);
    if (this.#isStarted) return this.#subscribe(subscription);
    this.#isStarted = true;
    queueMicrotask(() => this.#start()); // by then all parts of the page have subscribed
  }

  #start() {
    this.#connect();
    setInterval(() => this.#tick(), TICK);
    addEventListener("online", () => this.resume());
    addEventListener("offline", () => this.#sayDown());
    document.addEventListener("visibilitychange", () => document.hidden || this.#tick());
    // A page with an open socket cannot enter the back-forward cache.
    addEventListener("pagehide", () => this.#drop());
    addEventListener("pageshow", (event) => event.persisted && this.resume());
  }

  /** Reconnect with the last ids: missed entries are replayed, known ones are ignored by id. */
  resume() {
    if (this.#over) return;
    this.#drop();
    this.#connect();
  }

  tell(message) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  #each(act) {
    for (const { listener } of this.#subscriptions) act(listener);
  }

  #sayDown() {
    showState(word("offline"));
    this.#each((listener) => listener.down?.());
  }

  #subscribe({ timeline, last }) {
    this.tell({ type: "subscribe", timeline, after: last });
  }

  #subscribeAll() {
    for (const subscription of this.#subscriptions) this.#subscribe(subscription);
  }

  #connect() {
    const url = new URL("/ws/stream/", location.href);
    url.protocol = url.protocol.replace("http", "ws");
    const socket = (this.#socket = new WebSocket(url));
    socket.onopen = () => this.#subscribeAll();
    socket.onmessage = (event) => socket === this.#socket && this.#hear(JSON.parse(event.data));
    socket.onclose = (event) => socket === this.#socket && this.#closed(event.code);
  }

  /** A message with a timeline goes to its subscriptions. */
  #hear(message) {
    this.#heard = Date.now();
    this.#asked = 0;
    if (message.type === "error") this.#refused(message);
    if (message.type === "edited") showEdited(message);
    if (message.type === "poll") showPoll(message);
    if (message.type === "quote") showQuote(message);
    for (const subscription of this.#subscriptions) {
      if (message.timeline !== undefined && message.timeline !== subscription.timeline) continue;
      if (message.type === "subscribed") {
        this.#failures = 0;
        showState("");
        subscription.saw(message.last);
        subscription.listener.up();
      }
      subscription.listener.message(message);
    }
  }

  /** Unsubscribe from one forbidden timeline: it was deleted, or this reader may not read it any more. */
  #refused({ code, timeline }) {
    if (code === "signed_out") this.#doubt();
    if (code === "forbidden") for (const each of this.#subscriptions) if (each.timeline === timeline) this.#subscriptions.delete(each);
    if (code === "rate_limited") this.#later(LONGEST_WAIT, () => this.#subscribeAll());
  }

  /** The session ended. The browser may get a new one soon, with the response to a password change. */
  #doubt() {
    const now = Date.now();
    if (now - this.#doubted > LONGEST_WAIT) this.#doubts = 0;
    this.#doubted = now;
    if (this.#doubts === DOUBTS.length) return this.#end();
    this.#drop();
    this.#later(DOUBTS[this.#doubts++], () => this.#connect());
  }

  #closed(code) {
    this.#socket = null;
    if (this.#over) return;
    if (code === SIGNED_OUT) return this.#doubt();
    this.#failures += 1;
    if (this.#failures > 2 || !navigator.onLine) this.#sayDown();
    const wait = code === TOO_MANY ? LONGEST_WAIT : Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** (this.#failures - 1));
    this.#later(wait, () => this.#connect());
  }

  /** Wait randomly between half and all of the time: clients do not reconnect at the same moment. */
  #later(wait, act) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(act, wait * (0.5 + Math.random() / 2));
  }

  #tick() {
    const now = Date.now();
    const late = now - this.#ticked;
    this.#ticked = now;
    if (this.#over || document.hidden) return; // timers of hidden pages are slow; the first tick of a visible page decides
    const unanswered = this.#asked && now - this.#asked > PATIENCE;
    if (late > ASLEEP || unanswered) this.resume();
    else if (this.#socket && !this.#asked && now - this.#heard > SILENCE) {
      this.#asked = now;
      this.#subscribeAll();
    }
  }

  #drop() {
    clearTimeout(this.#timer);
    const socket = this.#socket;
    this.#socket = null; // before the close, so that it does not count as a failure
    this.#asked = 0;
    this.#heard = Date.now();
    socket?.close();
  }

  #end() {
    this.#over = true;
    this.#drop();
    showState("");
    this.#each((listener) => listener.signedOut?.());
  }
}

const connection = new Connection();

export class Subscription {
  /**
   * @param {string} timeline
   * @param {string | undefined} after the newest id on the page; undefined: only new entries
   * @param {{message(m: object): void, up(): void, down?(): void, signedOut?(): void}} listener
   */
  constructor(timeline, after, listener) {
    this.timeline = timeline;
    this.last = after;
    this.listener = listener;
  }

  start() {
    connection.add(this);
  }

  /** Store the newest id, in any order of arrival. */
  saw(id) {
    if (Number(id) > Number(this.last)) this.last = id;
  }

  tell(message) {
    connection.tell(message);
  }
}
