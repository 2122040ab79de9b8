/** The form for posts: counts characters, stores drafts, publishes. */

import { enhanceCompletion, insert } from "./complete.js";
import { ServerDraft } from "./drafts.js";
import { addPictures, editorOf, restorePictures } from "./lazy.js";
import { page, postOf, send, showingsOf } from "./send.js";
import { openSheet } from "./sheet.js";
import { attempt, stored as drafts } from "./storage.js";
import { asItem, takeOut } from "./timeline.js";
import { sayTimes } from "./times.js";
import { toast } from "./toast.js";
import { word } from "./words.js";

const segmenter = "Segmenter" in Intl ? new Intl.Segmenter(undefined, { granularity: "grapheme" }) : null;
const NEARLY = 20; // remaining characters from which screen readers announce the count

/** Count graphemes of the text as the server stores it: NFC, one character per line break, trimmed. */
export function graphemes(text) {
  const kept = text.replace(/\r\n?/g, "\n").normalize("NFC").trim();
  return segmenter ? [...segmenter.segment(kept)].length : [...kept].length;
}

const LINK = /https?:\/\/[^\s<>"]*[^\s<>"?!.,:;'()*]/gi;
const HOST = /(@\w[\w.-]*)@(?:[\w-]{1,63}\.){1,4}[\w-]{2,24}/g;
/** A link counts 23 at most, and `@name@host` as `@name`, as on the server. */
export const postLength = (text) => graphemes(text.replace(LINK, (link) => (link.length > 500 ? link : link.slice(0, 23))).replace(HOST, "$1"));

const countOf = (text) => text.parentElement.querySelector(":scope > .composer-count, :scope > .composer-foot > .composer-count");

const boxOf = (text) => text.closest(".composer-further");
const tools = { complete: enhanceCompletion, restorePictures, send, toast, word }; // of modules without their state

const freshKey = () => crypto.getRandomValues(new BigUint64Array(2)).join("");

const stateOf = ({ localName, type }) => (localName === "details" ? "open" : type === "checkbox" ? "checked" : "value");

/** An edited text is stored already. */
const noDrafts = { read: () => "", write: () => {} };

export function deleteDrafts() {
  attempt(() => Object.keys(localStorage).forEach((name) => name.startsWith("draft:") && localStorage.removeItem(name)));
}

class Composer {
  constructor(form) {
    this.form = form;
    this.text = form.elements.text;
    this.key = form.elements.idempotency_key;
    this.warning = form.elements.spoiler_text;
    this.fold = this.warning.closest("details");
    this.isEdit = form.dataset.composer === "edit";
    this.drafts = this.isEdit ? noDrafts : drafts;
    this.button = form.querySelector("[type=submit]");
    this.error = form.querySelector(".error");
    this.max = Number(this.text.dataset.max);
    const about = form.elements.in_reply_to?.value ?? "";
    this.draft = `draft:${document.body.dataset.handle}:${about}`;
    this.choicesDraft = `${this.draft}:choices`;
    this.pictureDraft = `${this.draft}:pictures`;
    this.furtherDraft = `${this.draft}:further`;
    this.sentAs = `${this.draft}:key`; // key of the last request: perhaps only its response was lost
    const onServer = `${this.draft}:id`;
    this.onServer = new ServerDraft(form, { read: () => this.drafts.read(onServer), write: (id) => this.drafts.write(onServer, id) });
  }

  start() {
    if (!this.text.value) this.#restore();
    this.form.addEventListener("input", () => this.#changed());
    this.fold.ontoggle = () => this.#toggled(this.fold.open);
    this.form.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.form.requestSubmit(this.button);
    });
    this.form.querySelector("[data-add-post]")?.addEventListener("click", (event) => {
      event.preventDefault();
      this.#further(({ addPost }) => addPost(this.form, tools));
    });
    this.form.addEventListener("focusin", ({ target }) => "max" in target.dataset && (this.last = target));
    const emoji = this.form.querySelector("[data-emoji]");
    emoji.onclick = () => {
      import("./emoji.js").then(({ toggleEmoji }) => toggleEmoji(emoji, () => this.#writing, insert, drafts)).catch(() => toast(word("unreachable")));
    };
    for (const kind of ["paste", "dragover", "drop"]) this.form.addEventListener(kind, (event) => this.#takeFiles(event));
    for (const input of this.form.querySelectorAll("[data-add-pictures]"))
      input.onchange = () => this.#addPictures([...input.files]).then(() => (input.value = ""));
    this.form.addEventListener("pictures:changed", (event) => this.#picturesChanged(event));
    this.form.addEventListener("submit", (event) => {
      if (this.isEdit && !this.#tooLong) return this.#saveEdit(event);
      event.preventDefault();
      this.#submit(event.submitter?.matches("[data-save-draft]") ? "/drafts/" : this.form.action);
    });
    const time = this.form.elements.scheduled_at;
    const { textContent, dataset } = this.button;
    if (time) (time.oninput = () => (this.button.textContent = time.value ? dataset.later : textContent))();
    this.#restorePictures();
    this.#restoreFurther();
    this.#showCounts();
    if (location.hash === `#${this.text.id}` || this.text.ariaInvalid === "true") this.focus();
  }

  #restore() {
    if ((this.text.value = this.drafts.read(this.draft))) {
      this.key.value = this.drafts.read(this.sentAs) || this.key.value;
      this.onServer.restored();
    }
    const kept = JSON.parse(this.drafts.read(this.choicesDraft) || "[]");
    this.#choices.forEach((each, at) => at in kept && (each[stateOf(each)] = kept[at]));
    this.warning.disabled = !this.fold.open;
  }

  /** What belongs to a text: open parts and fields, audience, language. */
  get #choices() {
    return this.form.querySelectorAll(".composer-body > details, .composer-body > details [name], .composer-foot select");
  }

  /** On a phone, a page of posts has its form in a sheet (composer.css hides it). */
  focus() {
    if (!this.form.isConnected || !this.form.offsetParent) return openSheet(this.form, this.about, () => this.onServer.flush());
    this.text.focus();
    this.form.scrollIntoView({ block: "nearest" });
  }

  /** Does a link ask for this form: of a reply to the post of this page, or of a new post? */
  isFor({ hash, pathname }) {
    const isReply = Boolean(this.form.elements.in_reply_to);
    if (hash === "#reply") return isReply && pathname === location.pathname;
    return pathname === "/compose/" && !isReply && !this.isEdit;
  }

  /** The boxes of the posts: of one, or of a thread. */
  get texts() {
    return [...this.form.querySelectorAll("textarea[data-max]")];
  }

  /** The box of the cursor. */
  get #writing() {
    return this.form.contains(this.last) ? this.last : this.text;
  }

  /** The text of each post; of a further one also its pictures. */
  get #posts() {
    return this.texts.map((text) => [text.value, boxOf(text)?.querySelector("[type=hidden]").value]);
  }

  #leftOf(text) {
    return this.max - postLength(text.value) - (this.warning.disabled ? 0 : graphemes(this.warning.value));
  }

  get #tooLong() {
    return this.texts.find((text) => this.#leftOf(text) < 0);
  }

  #further(act) {
    return import("./further.js").then(act, () => toast(word("unreachable")));
  }

  /** Show the boxes of the page, or of an unsent draft. */
  #restoreFurther() {
    const [, ...shown] = this.#posts;
    const kept = shown.length ? shown : JSON.parse(this.drafts.read(this.furtherDraft) || "[]");
    if (!kept.length) return;
    this.restoring = this.#further(({ setPosts }) => {
      this.restoring = null;
      setPosts(this.form, kept, tools);
    });
  }

  /** A folded warning is kept but not sent. */
  #toggled(isOpen) {
    this.warning.disabled = !isOpen;
    if (isOpen && !this.warning.value) this.warning.focus();
    this.#showCounts();
  }

  /** Pictures of the page are shown in the editor, and else those of an unsent draft. */
  #restorePictures() {
    const kept = this.drafts.read(this.pictureDraft);
    const isOnPage = this.form.querySelector(".picture-stored");
    if (isOnPage || kept) restorePictures(this.form, isOnPage ? null : JSON.parse(kept)).catch(() => {});
  }

  #picturesChanged({ target, detail: { ids, names } }) {
    if (target !== this.form) {
      target.querySelector("[type=hidden]").value = ids.join(" ");
      return this.#changed();
    }
    const count = ids.length + names.length;
    this.text.required = !count;
    this.drafts.write(this.pictureDraft, count ? JSON.stringify({ ids, names }) : "");
    this.#keepChoices();
    this.onServer.changed();
  }

  /** The browser sends an edit, once its pictures are uploaded. */
  async #saveEdit(event) {
    const editor = editorOf(this.form);
    if (!editor || this.isChecked) return this.#sendFoldedWarning();
    event.preventDefault();
    const problem = await (await editor).findProblem();
    if (problem) return this.#say(problem.trim());
    await new Promise((resolve) => setTimeout(resolve)); // a browser ignores a submission during the event of another
    this.isChecked = true;
    this.form.requestSubmit(event.submitter);
    this.isChecked = false;
  }

  /** Of an edit, an absent field keeps its value: a folded warning is removed by an empty one. */
  #sendFoldedWarning() {
    window.onbeforeunload = null;
    if (!this.warning.disabled) return;
    this.warning.value = "";
    this.warning.disabled = false;
  }

  #changed() {
    this.drafts.write(this.draft, this.text.value);
    this.#keepChoices();
    const [, ...further] = this.#posts;
    if (!this.restoring) this.drafts.write(this.furtherDraft, further.length ? JSON.stringify(further) : "");
    this.drafts.write(this.sentAs, "");
    this.onServer.changed();
    if (this.isEdit) window.onbeforeunload = (event) => event.preventDefault();
    this.#showCounts();
    this.#say("");
  }

  #keepChoices() {
    const written = this.text.value || this.warning.value || this.drafts.read(this.pictureDraft);
    this.drafts.write(this.choicesDraft, written && JSON.stringify([...this.#choices].map((each) => each[stateOf(each)])));
  }

  #showCounts() {
    for (const text of this.texts) {
      const [left, count] = [this.#leftOf(text), countOf(text)];
      count.dataset.rest ??= count.textContent;
      count.hidden = false;
      count.textContent = !text.value && left === this.max ? count.dataset.rest : left < 0 ? word("over", -left) : word("left", left);
      count.classList.toggle("over", left < 0);
      count.ariaLive = left <= NEARLY ? "polite" : "off";
    }
  }

  #say(message, text = this.text) {
    this.error.textContent = message;
    this.error.hidden = !message;
    for (const each of this.texts) each.ariaInvalid = String(Boolean(message) && each === text);
    if (!message) return;
    text.after(this.error);
    text.setAttribute("aria-describedby", `${this.error.id} ${countOf(text).id}`);
  }

  /** Take pasted and dropped files as pictures. The browser would leave the page for a file. */
  #takeFiles(event) {
    const data = event.clipboardData ?? event.dataTransfer;
    if (!data.types.includes("Files") || data.types.includes("text/plain") || !this.form.querySelector("[data-add-pictures]")) return;
    event.preventDefault();
    if (event.type === "dragover") return;
    event.target.focus();
    this.#addPictures([...data.files]);
  }

  #addPictures(files) {
    return addPictures(boxOf(this.#writing) ?? this.form, files).catch(() => toast(word("unreachable")));
  }

  async #submit(path) {
    if (this.button.ariaDisabled === "true") return;
    const editor = await editorOf(this.form);
    await this.restoring;
    const tooLong = this.#tooLong;
    if (tooLong) {
      this.#say(word("over", -this.#leftOf(tooLong)), tooLong);
      countOf(tooLong).hidden = true; // the error says the same
      tooLong.focus();
      return;
    }
    this.button.ariaDisabled = "true";
    for (const text of this.texts) {
      const problem = await (await editorOf(boxOf(text) ?? this.form))?.findProblem();
      if (!problem) continue;
      this.button.ariaDisabled = "false";
      return this.#say(problem.trim(), text);
    }
    const sent = this.#posts;
    drafts.write(this.sentAs, this.key.value);
    await this.onServer.settle();
    const { fields } = this.onServer;
    const { ok, status, data } = await send(path, fields);
    this.button.ariaDisabled = "false";
    if (!ok) return this.#refused(status, data);
    editor?.clear();
    await this.#published(data, sent, [...fields]);
  }

  /** The key stays for a retry: if the first request was processed, the second has no effect. */
  #refused(status, data) {
    // The key is of another text or a deleted post: the next request is a new post.
    if (status === 409 || status === 404) drafts.write(this.sentAs, (this.key.value = freshKey()));
    const [[name = "", reason] = []] = Object.entries(data.fields ?? {});
    const text = this.texts[name.slice("more-".length) - 1] ?? this.text;
    if (status === 401) this.#say(word("signedOut"));
    else this.#say((status === 422 && reason) || (status && data.message) || word("notSent"), text);
    text.focus();
  }

  async #published(post, sent, fields) {
    this.key.value = freshKey();
    const [text, ...further] = this.#posts;
    const isSent = (post) => sent.map(String).includes(`${post}`);
    if (isSent(text)) for (const each of this.form.querySelectorAll("[name=text], details > input")) each.value = "";
    if (further.length) await this.#further(({ setPosts }) => setPosts(this.form, further.filter((each) => !isSent(each)), tools));
    this.fold.open = Boolean(this.warning.value);
    for (const each of this.form.querySelectorAll('[name="poll[options][]"]')) each.value = "";
    this.form.querySelector(".composer-poll").open = false;
    this.#say("");
    this.onServer.published();
    this.#changed();
    this.form.closest("dialog")?.close();
    if (post.url && document.body.dataset.page === "compose") {
      attempt(() => (sessionStorage.published = JSON.stringify([post, fields])));
      return location.assign(post.url);
    }
    if (!post.url) return toast(post.message ?? word(post.scheduled_at ? "scheduled" : "saved"), { href: "/drafts/" });
    toast(post.message ?? word("published"), { undo: () => this.#takeBack(post.thread ?? [post.id], fields, sent.slice(1)) });
    await showPosts(post, this.form.elements.in_reply_to).catch(() => {});
  }

  async #takeBack(ids, fields, further) {
    const answer = await import("./take_back.js")
      .then(({ takeBack }) => takeBack(this.form, fields, ids, further, tools))
      .catch(() => ({}));
    if (!answer.ok) return toast(answer.data?.message || word("notDone"));
    for (const id of ids) [...showingsOf(document, id)].forEach(takeOut);
    this.focus();
  }
}

/** Does this page show all posts of the writer? */
const hasOwnPosts = () => document.body.dataset.page === "home" || location.pathname === `/@${document.body.dataset.handle}/`;

/** Show the entries of a post or thread, from its page, which has the author's actions. */
async function showPosts({ id, url, thread = [id] }, isReply) {
  const replies = document.querySelector("[data-replies]");
  if (!(replies ? isReply : hasOwnPosts())) return;
  const found = await page(url);
  for (const each of thread) {
    const article = postOf(found, String(each));
    if (article && replies) addReply(article, replies);
    else if (article) document.dispatchEvent(new CustomEvent("post:published", { detail: { article } }));
  }
}

function addReply(article, replies) {
  const item = asItem(article);
  replies.append(item);
  document.getElementById("replies-title")?.classList.remove("sr");
  sayTimes(item);
  item.scrollIntoView({ block: "nearest" });
}

/** Open the form of another page in a sheet, or go there if it cannot be loaded. */
async function openFormOf(link) {
  if (link.ariaBusy === "true") return; // a second click
  link.ariaBusy = "true";
  const article = link.closest("article");
  try {
    const [{ aboutPost, adoptForm }, found] = await Promise.all([import("./adopt.js"), page(link.href)]);
    const composer = new Composer(await adoptForm(found));
    if (article) composer.about = aboutPost(article);
    composer.start();
    composer.focus();
    enhanceCompletion(composer.form);
  } catch {
    location.assign(link.href);
  }
  link.ariaBusy = null;
}

export function enhanceComposers() {
  const composers = [...document.querySelectorAll("form[data-composer]")].map((form) => new Composer(form));
  composers.forEach((composer) => composer.start());
  if (attempt(() => sessionStorage.published)) import("./published.js").then(({ offerUndo }) => offerUndo(tools));
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.('a[data-compose], .action[href$="#reply"], .menu-item[href$="/quote/"]');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || !document.body.dataset.handle) return;
    event.preventDefault();
    const here = composers.find((composer) => composer.isFor(link));
    if (here) here.focus();
    else openFormOf(link);
  });
}
