/** The pictures of a post that is being written. */

import { openLayer } from "./layers.js";
import { part } from "./picture_parts.js";

const PREVIEW_PX = 240;
const POLL_MS = 500;
const POLLS = 120;
const segmenter = "Segmenter" in Intl ? new Intl.Segmenter(undefined, { granularity: "grapheme" }) : null;
const lengthOf = (text) => [...(segmenter?.segment(text.trim()) ?? text.trim())].length;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Return why the site would refuse a file, by its content and not its name; "" if it may be sent. */
async function findRefusal(file, maxBytes) {
  const head = new Uint8Array(await file.slice(0, 256).arrayBuffer());
  const ascii = String.fromCharCode(...head);
  if (/^\xff\xd8\xff|^\x89PNG|^GIF8|^RIFF....WEBP/s.test(ascii)) return file.size > maxBytes ? "tooLarge" : "";
  if (/^....ftyp(?:hei|hev|mif1|msf1|avif)/s.test(ascii) || /hei[cf]/.test(file.type)) return /^....ftypavi/s.test(ascii) ? "other" : "heic";
  if (file.type === "image/svg+xml" || /^\s*(?:<\?xml|<svg|<!--)/.test(ascii)) return "svg";
  if (file.type.startsWith("video/") || /^....ftyp|^\x1aE\xdf\xa3/s.test(ascii)) return "video";
  return "other";
}

/** POST a form. Returns {status, data}; the status is 0 without a response. */
function post(path, fields, token, { onProgress, signal } = {}) {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open("POST", path);
    request.setRequestHeader("Accept", "application/json");
    request.setRequestHeader("X-CSRFToken", token);
    request.responseType = "json";
    request.upload.onprogress = (event) => event.lengthComputable && onProgress?.(event.loaded / event.total);
    request.onloadend = () => resolve({ status: request.status, data: request.response ?? {} });
    signal?.addEventListener("abort", () => request.abort());
    const body = new FormData();
    for (const [name, value] of Object.entries(fields)) body.append(name, value);
    request.send(body);
  });
}

async function fetchPicture(id, signal) {
  const answer = await fetch(`/media/${id}/`, { headers: { Accept: "application/json" }, signal }).catch(() => null);
  return { status: answer?.status ?? 0, data: (await answer?.json().catch(() => null)) ?? {} };
}

class Picture {
  #abort = new AbortController();
  #saving = Promise.resolve(true);
  #saved = "";

  /** A picture without a file is uploaded already. Its row has its values. */
  constructor(editor, row, file = null) {
    this.editor = editor;
    this.row = row;
    this.file = file;
    this.state = file ? "uploading" : "ready";
    this.name = file?.name ?? "";
    this.thumb = row.querySelector(".picture-thumb");
    this.point = row.querySelector(".picture-point");
    this.status = row.querySelector("[role=status]");
    this.progress = row.querySelector("progress");
    this.text = row.querySelector("textarea");
    this.left = row.querySelector(".picture-left");
    this.retry = row.querySelector("[data-retry]");
    this.axes = row.querySelectorAll("[data-axis]");
    this.ids = row.querySelectorAll("input[type=hidden]");
    row.querySelector(".name").textContent = this.name;
    this.progress.ariaLabel += ` ${this.name}`;
    this.text.oninput = () => this.#count();
    this.text.onchange = () => this.save();
    for (const axis of this.axes) axis.onchange = () => this.save();
    for (const axis of this.axes) axis.oninput = () => this.#showPoint();
    this.thumb.onclick = (event) => this.#point(event);
    row.querySelector(".picture-focus").ontoggle = () => this.#showPoint();
    this.retry.onclick = () => this.upload();
    for (const button of row.querySelectorAll("button")) button.type = "button";
    row.querySelector("[data-details]").onclick = () => this.#open();
    row.querySelector("[data-done]").onclick = () => this.sheet.close();
    row.querySelector("[data-remove]").onclick = () => editor.remove(this);
    for (const button of row.querySelectorAll("[data-move]"))
      button.onclick = () => editor.move(this, Number(button.dataset.move), button);
    this.#saved = this.#values;
    this.#count();
  }

  get id() {
    return this.ids[0].value;
  }

  #found(id) {
    for (const input of this.ids) input.value = id;
    this.#say("ready");
    this.save();
  }

  get #values() {
    const [x, y] = [...this.axes].map((axis) => axis.value);
    return JSON.stringify({ description: this.text.value, focus: `${x},${y}` });
  }

  get isDescribed() {
    return Boolean(this.text.value.trim());
  }

  get isTooLong() {
    return lengthOf(this.text.value) > Number(this.editor.words.maxDescription);
  }

  async drawPreview() {
    const canvas = this.row.querySelector("canvas");
    try {
      const bitmap = await createImageBitmap(this.file);
      const scale = PREVIEW_PX / Math.max(bitmap.width, bitmap.height);
      [canvas.width, canvas.height] = [bitmap.width, bitmap.height].map((side) => Math.max(1, Math.round(side * scale)));
      canvas.getContext("2d").drawImage(bitmap, 0, 0, canvas.width, canvas.height);
      bitmap.close();
    } catch {} // the site may read a picture that this browser cannot
  }

  async upload() {
    if (this.state === "ready") return;
    this.#abort = new AbortController();
    this.#say("uploading");
    const { signal } = this.#abort;
    const onProgress = (part) => {
      this.progress.value = part;
      if (part === 1) this.status.textContent = this.editor.words.processing;
    };
    let { status, data } = await post("/media/", { file: this.file }, this.editor.token, { onProgress, signal });
    for (let polls = 0; (status === 202 || status === 206) && polls < POLLS && !signal.aborted; polls++) {
      await pause(POLL_MS);
      const answer = await fetchPicture(data.id, signal);
      if (answer.status) [status, data] = [answer.status, { ...data, ...answer.data }];
    }
    if (signal.aborted) return data.id && this.editor.discard(data.id);
    if (status !== 200) return this.#say(status ? "failed" : "lost", data.fields?.file || (status && data.message));
    this.#found(data.id);
  }

  /** Show a picture that was uploaded before this page was loaded. */
  restore({ id, preview_url, description, meta }) {
    const image = Object.assign(new Image(), { src: preview_url, alt: this.row.querySelector("canvas").ariaLabel });
    this.row.querySelector("canvas").replaceWith(image);
    this.text.value = description ?? "";
    for (const axis of this.axes) axis.value = meta.focus[axis.dataset.axis];
    this.#saved = this.#values;
    this.#count();
    this.#found(id);
  }

  #say(state, message = "") {
    this.state = state;
    this.row.dataset.state = state;
    this.status.textContent = message || this.editor.words[state];
    this.progress.hidden = state !== "uploading";
    if (state === "uploading") this.progress.value = 0;
    this.retry.hidden = state !== "lost" && state !== "failed";
    const remove = this.row.querySelector("[data-cancel]");
    remove.dataset.remove ??= remove.textContent;
    remove.textContent = state === "uploading" ? remove.dataset.cancel : remove.dataset.remove;
    this.editor.changed();
  }

  /** Store the description and the focal point, if they changed. Returns whether they are stored. */
  save() {
    this.#saving = this.#saving.then(async () => {
      const sent = this.#values;
      if (this.state !== "ready" || sent === this.#saved || this.editor.isOfStoredPost) return true;
      const { status } = await post(`/media/${this.id}/`, JSON.parse(sent), this.editor.token);
      if (status === 200) this.#saved = sent;
      return status === 200;
    });
    return this.#saving;
  }

  /** Show all about the picture in a dialog of its own. On a phone its row has only the preview. */
  #open() {
    const facts = this.row.querySelector(".picture-facts");
    this.sheet = Object.assign(document.createElement("dialog"), { className: "sheet picture-sheet", ariaLabel: this.name || this.text.placeholder });
    this.thumb.before(this.sheet);
    this.sheet.append(this.thumb, facts);
    openLayer(this.sheet);
    this.text.focus();
    this.sheet.onclose = () => this.sheet.replaceWith(this.thumb, facts);
  }

  /** Focus a control, or the button that opens its dialog. */
  reach(control, act = "focus") {
    if (control.checkVisibility()) control.focus();
    else this.row.querySelector("[data-details]")[act]();
  }

  cancel() {
    this.sheet?.close();
    this.#abort.abort();
    if (this.id && (this.file || !this.editor.isOfStoredPost)) this.editor.discard(this.id);
    this.row.remove();
  }

  #count() {
    const left = Number(this.editor.words.maxDescription) - lengthOf(this.text.value);
    this.left.textContent = this.text.value ? left : "";
    this.left.classList.toggle("over", left < 0);
    this.row.classList.toggle("described", this.isDescribed);
    this.text.ariaInvalid = String(left < 0);
  }

  #point(event) {
    if (!this.row.querySelector(".picture-focus").open) return;
    const box = this.thumb.firstElementChild.getBoundingClientRect();
    const [x, y] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
    const clamp = (value) => String(Math.max(-1, Math.min(1, value)));
    this.axes[0].value = clamp(2 * x - 1);
    this.axes[1].value = clamp(1 - 2 * y);
    this.#showPoint();
    this.save();
  }

  #showPoint() {
    const [x, y] = [...this.axes].map((axis) => Number(axis.value));
    this.point.hidden = !this.row.querySelector(".picture-focus").open;
    this.point.style.left = `${50 + 50 * x}%`;
    this.point.style.top = `${50 - 50 * y}%`;
  }
}

class Editor {
  #pictures = [];
  #isReminded = false;

  /** `root` is the form, or the box of a further post. */
  constructor(root, element) {
    const form = root.closest("form");
    this.root = root;
    this.form = form;
    this.element = element;
    this.words = element.dataset;
    this.rows = element.querySelector(".picture-rows");
    this.problems = element.querySelector(".picture-problems");
    this.reminder = element.querySelector(".picture-reminder");
    (root.querySelector("template, .composer-foot") ?? root.lastElementChild).before(element);
    element.querySelector("[name=sensitive]").checked = "sensitive" in form.dataset;
    addEventListener("online", () => this.#pictures.filter(({ state }) => state === "lost").forEach((each) => each.upload()));
    element.querySelector("[data-describe]").onclick = () => {
      this.reminder.hidden = true;
      const picture = this.#pictures.find(({ isDescribed }) => !isDescribed);
      picture?.reach(picture.text, "click");
    };
    element.querySelector("[data-post-anyway]").onclick = () => {
      this.#isReminded = true;
      form.requestSubmit();
    };
  }

  get token() {
    return this.form.elements.csrfmiddlewaretoken.value;
  }

  get count() {
    return this.#pictures.length;
  }

  /** Is the form an edit or a redraft? Then the descriptions are stored with the post only. */
  get isOfStoredPost() {
    return this.form.dataset.composer === "edit";
  }

  /** The ids of the uploaded pictures, and the names of the others. */
  get contents() {
    const isReady = ({ state }) => state === "ready";
    return {
      ids: this.#pictures.filter(isReady).map(({ id }) => id),
      names: this.#pictures.filter((each) => !isReady(each)).map(({ name }) => name),
    };
  }

  adopt(section) {
    for (const row of section.querySelectorAll(".picture-row")) this.#append(new Picture(this, row));
    section.remove();
    this.changed();
  }

  /** Show the uploaded pictures of a draft on a new page, and name those that were not uploaded. */
  restore(contents) {
    return (this.restoring = this.#restore(contents));
  }

  async #restore({ ids, names }) {
    for (const id of ids) {
      let found = await fetchPicture(id);
      while (!found.status) found = (await pause(POLL_MS)) ?? (await fetchPicture(id));
      if (found.status !== 200) continue;
      const picture = new Picture(this, await part("#picture-row"));
      this.#append(picture);
      picture.restore(found.data);
    }
    this.#complain(names.map((name) => this.words.interrupted.replace("{name}", () => name)).join(" "));
    this.restoring = null;
    this.changed();
  }

  async add(files) {
    const problems = [];
    for (const file of files) {
      const refusal = this.count >= Number(this.words.maxPictures) ? "tooMany" : await findRefusal(file, Number(this.words.maxBytes));
      if (refusal) problems.push(this.words[refusal].replace("{name}", () => file.name));
      else await this.#upload(file);
    }
    this.#complain([...new Set(problems)].join(" "));
    this.changed();
  }

  #append(picture) {
    this.#pictures.push(picture);
    this.rows.append(picture.row);
    if (this.root === this.form) return;
    for (const each of picture.row.querySelectorAll("[name]")) each.removeAttribute("name"); // the box sends the ids
  }

  async #upload(file) {
    const picture = new Picture(this, await part("#picture-row"), file);
    this.#append(picture);
    picture.drawPreview();
    picture.upload();
  }

  move(picture, step, button) {
    const at = this.#pictures.indexOf(picture);
    const other = this.#pictures[at + step];
    if (!other) return;
    picture.sheet?.close(); // a dialog that is moved within the page is no longer modal
    [this.#pictures[at], this.#pictures[at + step]] = [other, picture];
    this.rows.append(...this.#pictures.map(({ row }) => row));
    this.changed();
    picture.reach(button.disabled ? picture.row.querySelector("[data-move]:not(:disabled)") : button);
  }

  remove(picture) {
    const at = this.#pictures.indexOf(picture);
    this.#pictures.splice(at, 1);
    picture.cancel();
    this.changed();
    const next = this.#pictures[at] ?? this.#pictures[at - 1];
    next ? next.reach(next.row.querySelector("[data-remove]")) : this.root.querySelector("textarea").focus();
  }

  discard(id) {
    post(`/media/${id}/delete/`, {}, this.token);
  }

  changed() {
    this.element.hidden = !this.count && this.problems.hidden;
    this.#pictures.forEach(({ row }, at) => {
      row.querySelector('[data-move="-1"]').disabled = at === 0;
      row.querySelector('[data-move="1"]').disabled = at === this.count - 1;
    });
    if (!this.restoring) this.root.dispatchEvent(new CustomEvent("pictures:changed", { bubbles: true, detail: this.contents }));
  }

  #complain(text) {
    this.problems.textContent = text;
    this.problems.hidden = !text;
  }

  /** Return "" if the post can be sent, or the reason why it cannot; " " if the reminder says it. */
  async findProblem() {
    await this.restoring;
    this.#complain("");
    if (!this.count) return "";
    if (this.#pictures.some(({ isTooLong }) => isTooLong)) return this.words.over;
    if ("asks" in this.words && !this.#isReminded && this.#pictures.some(({ isDescribed }) => !isDescribed)) {
      this.reminder.hidden = false;
      this.reminder.querySelector("button").focus();
      return " ";
    }
    this.reminder.hidden = true;
    while (this.#pictures.some(({ state }) => state === "uploading")) await pause(100);
    if (this.#pictures.some(({ state }) => state !== "ready")) return this.words.unready;
    const saved = await Promise.all(this.#pictures.map((each) => each.save()));
    return saved.every(Boolean) ? "" : this.words.notDescribed;
  }

  /** Empty the editor after the post was published. */
  clear() {
    this.#pictures.forEach(({ row }) => row.remove());
    this.#pictures = [];
    this.#isReminded = false;
    this.element.querySelector("[name=sensitive]").checked = false;
    this.changed();
  }
}

export async function openEditor(root) {
  const editor = new Editor(root, await part("#picture-editor"));
  const stored = root.querySelector(".picture-stored");
  if (stored) editor.adopt(stored);
  return editor;
}
