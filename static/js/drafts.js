/** Drafts on the server: saved while the reader writes, so that another device can continue. */

import { send } from "./send.js";

const IDLE = 4000; // ms without a change after which the draft is saved

const localValue = (at) => new Date(at - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);

/** The draft of one composer. The page contains times in UTC; the field shows them in the reader's time zone. */
export class ServerDraft {
  #timer = 0;
  #saving = null;

  /** `storedId` is kept over a reload of the page: `read()` and `write(id)`. */
  constructor(form, storedId) {
    this.form = form;
    this.storedId = storedId;
    this.id = form.elements.draft;
    this.time = form.elements.scheduled_at;
    const utc = this.time?.defaultValue; // Firefox restores `value`
    if (utc) this.time.value = localValue(new Date(`${utc}Z`));
  }

  /** The fields of the form, with the time in UTC. */
  get fields() {
    const fields = new FormData(this.form);
    if (this.time) fields.set("scheduled_at", this.time.value && new Date(this.time.value).toISOString());
    return fields;
  }

  changed() {
    if (!this.id) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.flush(), IDLE);
  }

  async flush() {
    if (this.#timer) this.#saving = this.#save();
    await this.settle();
  }

  /** A scheduled post is changed by its button only. */
  async #save() {
    const { fields } = this;
    if (fields.get("scheduled_at") || !(fields.get("text").trim() || fields.get("media_ids") || this.id.value)) return;
    const { ok, data } = await send("/drafts/", fields);
    if (ok) this.#continue(data.id ?? "");
  }

  #continue(id) {
    this.id.value = id;
    this.storedId.write(id);
  }

  /** The text of the form was restored after a reload: continue its draft instead of a second one. */
  restored() {
    if (this.id && !this.id.value) this.id.value = this.storedId.read();
  }

  /** Wait until no save is under way, so that none restores the draft of a published post. */
  async settle() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    await this.#saving;
  }

  published() {
    if (this.id) this.#continue("");
    if (this.time) this.time.value = "";
  }
}
