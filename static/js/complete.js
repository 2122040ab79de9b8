/**
 * Autocompletes @handles and #hashtags in a text box with a list below it, for keyboard, pointer and screen reader.
 * No option is preselected, so Enter and Tab keep their usual effect.
 */

import { word } from "./words.js";

// As the server finds mentions and hashtags, but after @ also the start of a name in any script.
const BEGUN =
  /(?:^|[^A-Za-z0-9_!@＠#＃$%&*/])([@＠][\p{L}\p{M}\p{N}_]{1,30})$|(?:^|[^\p{L}\p{M}\p{N}_&/])([#＃][\p{L}\p{M}\p{N}_]{1,100})$/u;
const PAUSE_MS = 120;
const kept = new Map(); // query -> options, for this page

class Completion {
  #timer = 0;
  #asking = null;
  #at = -1;
  #begun = null;

  constructor(text) {
    this.text = text;
    const place = document.createElement("div");
    place.style.position = "relative";
    this.list = document.createElement("ul");
    this.list.id = `${text.id}-list`;
    this.list.role = "listbox";
    this.list.ariaLabel = word("completions");
    this.list.className = "menu-body";
    Object.assign(this.list.style, { inset: "0 auto auto 0", zIndex: 4, padding: "0.25rem 0", gap: 0 });
    this.status = document.createElement("p");
    this.status.className = "sr";
    this.status.role = "status";
    place.append(this.list, this.status);
    text.after(place);
    text.setAttribute("aria-autocomplete", "list");
    this.close();
  }

  start() {
    const look = (event) => event.isComposing || this.#look();
    this.text.addEventListener("input", look);
    this.text.addEventListener("compositionend", () => this.#look());
    this.text.addEventListener("click", () => this.close());
    this.text.addEventListener("blur", () => this.close());
    this.text.form.addEventListener("submit", () => this.close()); // submitted by keyboard
    this.text.addEventListener("keydown", (event) => this.#keyed(event), true);
    this.list.addEventListener("pointerdown", (event) => event.preventDefault()); // the text keeps the focus
    this.list.addEventListener("click", (event) => {
      const option = event.target.closest("[role=option]");
      if (option) this.#choose(option);
    });
  }

  close() {
    clearTimeout(this.#timer);
    this.#asking?.abort();
    this.#at = -1;
    this.list.hidden = true;
    this.list.replaceChildren();
    this.status.textContent = "";
    this.text.removeAttribute("aria-activedescendant");
    this.text.removeAttribute("aria-controls");
  }

  #look() {
    const { value, selectionStart, selectionEnd } = this.text;
    const [, handle, tag] = (selectionStart === selectionEnd && BEGUN.exec(value.slice(0, selectionStart))) || [];
    const begun = handle ?? tag;
    if (!begun) return this.close();
    this.#begun = begun; // the text that a chosen option replaces
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#ask(begun), PAUSE_MS);
  }

  async #ask(begun) {
    this.#asking?.abort();
    this.#asking = new AbortController();
    const { signal } = this.#asking;
    const found = kept.get(begun) ?? (await fetched(begun, signal));
    if (signal.aborted || !found) return;
    kept.set(begun, found);
    this.#show(begun, found);
  }

  #show(begun, found) {
    if (!found.length || (found.length === 1 && found[0].text === begun.toLowerCase())) return this.close();
    this.#at = -1;
    this.list.replaceChildren(...found.map((each, n) => option(each, `${this.list.id}-${n}`)));
    this.list.hidden = false;
    this.text.setAttribute("aria-controls", this.list.id);
    this.text.removeAttribute("aria-activedescendant");
    this.status.textContent = word("completion", found.length);
  }

  #keyed(event) {
    if (this.list.hidden || event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    const options = this.list.children;
    if (event.key === "ArrowDown") this.#go((this.#at + 1) % options.length);
    else if (event.key === "ArrowUp") this.#go((this.#at < 1 ? options.length : this.#at) - 1);
    else if (event.key === "Escape") this.close();
    else if ((event.key === "Enter" || event.key === "Tab") && this.#at >= 0) this.#choose(options[this.#at]);
    else return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }

  #go(at) {
    this.#at = at;
    [...this.list.children].forEach((each, n) => {
      each.ariaSelected = String(n === at);
      each.style.background = n === at ? "var(--sunk)" : "";
    });
    const { id } = this.list.children[at];
    this.text.setAttribute("aria-activedescendant", id);
    this.list.children[at].scrollIntoView({ block: "nearest" });
  }

  #choose({ dataset }) {
    const end = this.text.selectionStart;
    this.text.setRangeText(`${dataset.text} `, end - this.#begun.length, end, "end");
    this.close();
    this.text.dispatchEvent(new Event("input", { bubbles: true })); // update the count and the draft
    this.close();
  }
}

/** Return [{text, name}], or null after an error: then no list is shown. */
async function fetched(begun, signal) {
  try {
    const path = `/search/complete/?q=${encodeURIComponent(begun)}`;
    const answer = await fetch(path, { headers: { Accept: "application/json" }, signal });
    if (!answer.ok) return null;
    const { accounts = [], tags = [] } = await answer.json();
    return [
      ...accounts.map((each) => ({ text: `@${each.handle}`, name: each.display_name })),
      ...tags.map((each) => ({ text: `#${each.name}`, name: "" })),
    ];
  } catch {
    return null;
  }
}

function option({ text, name }, id) {
  const item = Object.assign(document.createElement("li"), { id, className: "row", role: "option" });
  Object.assign(item.style, { padding: "0.5rem 1rem", cursor: "pointer", border: 0 });
  item.ariaSelected = "false";
  item.dataset.text = text;
  for (const [shown, kind] of [[name, "name"], [text, name ? "handle" : "name"]]) {
    if (!shown) continue;
    item.append(Object.assign(document.createElement("bdi"), { className: kind, textContent: shown }));
  }
  return item;
}

export function enhanceCompletion() {
  for (const text of document.querySelectorAll("[data-composer] textarea")) new Completion(text).start();
}
