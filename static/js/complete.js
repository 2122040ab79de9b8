/**
 * Completes @handles and #hashtags with a list below the field. Enter and Tab take the first option, except in the
 * search field, where Enter searches.
 */

import { make, word } from "./words.js";

// As the server finds mentions and hashtags, but after @ also the start of a name in any script, with @ and a host.
const BEGUN =
  /(?:^|[^A-Za-z0-9_!@＠#＃$%&*/])([@＠][\p{L}\p{M}\p{N}_]{1,30}(?:@[A-Za-z0-9.:-]{0,100})?)$|(?:^|[^\p{L}\p{M}\p{N}_&/])([#＃][\p{L}\p{M}\p{N}_]{1,100})$/u;
const WORD = /(?:^|\s)([@＠#＃]?[\p{L}\p{M}\p{N}_]{1,100})$/u;
const PAUSE_MS = 120;
const MAX_SHOWN = 8;
const kept = new Map(); // query -> options, for this page

/**
 * The fields: `begun` returns the text before the cursor that is completed, `queries` what the site is asked for,
 * `choose` inserts an option.
 */
const FIELDS = {
  "[data-composer] textarea[data-max]": {
    isFirstChosen: true,
    begun: (before) => BEGUN.exec(before)?.slice(1).find(Boolean),
    queries: (begun) => [begun],
    choose: ({ text, rest }, insert, begun) => insert(`${rest === undefined ? text : begun + rest} `), // keeps typed capitals
  },
  "[role=search] input[name=q]": {
    isFirstChosen: false,
    begun: (before) => WORD.exec(before)?.[1],
    queries: (begun) => (/^[\p{L}\p{M}\p{N}_]/u.test(begun) ? [`@${begun}`, `#${begun}`] : [begun]),
    choose: (option) => location.assign(option.url),
  },
  "form[action$='/members/'] input[name=handle]": {
    isFirstChosen: true,
    begun: (before) => before,
    queries: (begun) => [begun.replace(/^[@＠]?/, "@")],
    choose: (option, insert) => insert(option.text.slice(1)),
  },
};

class Completion {
  #timer = 0;
  #asking = null;
  #at = -1;
  #begun = null;
  #options = [];

  constructor(text, field) {
    this.text = text;
    this.field = field;
    this.list = make("ul", { id: `${text.id}-list`, role: "listbox", ariaLabel: word("completions"), className: "completions" });
    this.status = make("p", { className: "sr", role: "status" });
    (text.matches("textarea") ? text : text.form).after(this.list, this.status); // in the flow: it covers nothing
    text.setAttribute("aria-autocomplete", "list");
    text.autocomplete = "off";
    this.close();
  }

  start() {
    const look = (event) => event.isComposing || this.#look();
    this.text.oninput = look;
    this.text.addEventListener("compositionend", () => this.#look());
    this.text.onclick = () => this.close();
    this.text.onblur = () => this.close();
    this.text.form.addEventListener("submit", () => this.close()); // submitted by keyboard
    this.text.addEventListener("keydown", (event) => this.#keyed(event), true);
    this.list.onpointerdown = (event) => event.preventDefault(); // the text keeps the focus
    this.list.onclick = (event) => {
      const option = event.target.closest("[role=option]");
      if (option) this.#choose([...this.list.children].indexOf(option));
    };
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
    const begun = selectionStart === selectionEnd && this.field.begun(value.slice(0, selectionStart));
    if (!begun) return this.close();
    this.#begun = begun;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#ask(begun), PAUSE_MS);
  }

  async #ask(begun) {
    this.#asking?.abort();
    this.#asking = new AbortController();
    const { signal } = this.#asking;
    const answers = await Promise.all(this.field.queries(begun).map((query) => kept.get(query) ?? loadChoices(query, signal)));
    if (!signal.aborted) this.#show(begun, answers.flat().slice(0, MAX_SHOWN));
  }

  #show(begun, found) {
    if (!found.length || (found.length === 1 && (found[0].rest === "" || found[0].text === begun.toLowerCase()))) return this.close();
    this.#at = -1;
    this.#options = found;
    this.list.replaceChildren(...found.map((each, n) => option(each, `${this.list.id}-${n}`)));
    this.list.hidden = false;
    this.text.setAttribute("aria-controls", this.list.id);
    this.text.removeAttribute("aria-activedescendant");
    this.status.textContent = word("completion", found.length);
    if (this.field.isFirstChosen) this.#go(0);
  }

  #keyed(event) {
    if (this.list.hidden || event.isComposing || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const count = this.list.children.length;
    if (event.key === "ArrowDown") this.#go((this.#at + 1) % count);
    else if (event.key === "ArrowUp") this.#go((this.#at < 1 ? count : this.#at) - 1);
    else if (event.key === "Escape") this.close();
    else if ((event.key === "Enter" || event.key === "Tab") && this.#at >= 0) this.#choose(this.#at);
    else return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }

  #go(at) {
    this.#at = at;
    [...this.list.children].forEach((each, n) => (each.ariaSelected = String(n === at)));
    const { id } = this.list.children[at];
    this.text.setAttribute("aria-activedescendant", id);
    this.list.children[at].scrollIntoView({ block: "nearest" });
  }

  #choose(at) {
    this.field.choose(this.#options[at], (text) => insert(this.text, text, this.#begun.length), this.#begun);
    this.close();
  }
}

/** Write in place of the selection and the letters before it, so that the browser can undo it. */
export function insert(field, text, letters = 0) {
  field.focus();
  field.selectionStart -= letters;
  if (document.execCommand("insertText", false, text)) return;
  field.setRangeText(text, field.selectionStart, field.selectionEnd, "end");
  field.dispatchEvent(new Event("input", { bubbles: true })); // update the count and the draft
}

/** Return [{text, name, url, rest}] for "@..." or "#..."; [] after an error, so that no list is shown. */
async function loadChoices(query, signal) {
  try {
    const path = `/search/complete/?q=${encodeURIComponent(query)}`;
    const answer = await fetch(path, { headers: { Accept: "application/json" }, signal });
    if (!answer.ok) return [];
    const { accounts = [], tags = [] } = await answer.json();
    const found = [
      ...accounts.map(({ handle, display_name: name, avatar }) => ({ text: `@${handle}`, name, avatar, url: `/@${handle}/` })),
      ...tags.map(({ name, url, rest }) => ({ text: `#${name}`, name: "", url, rest })),
    ];
    kept.set(query, found);
    return found;
  } catch {
    return [];
  }
}

function option({ text, name, avatar }, id) {
  const item = make("li", { id, role: "option", ariaSelected: "false" });
  if (avatar) item.append(make("img", { src: avatar.replace("/full.", "/small."), alt: "" }));
  if (name) item.append(make("bdi", { className: "name", textContent: name }));
  item.append(make("bdi", { className: name ? "handle" : "name", textContent: text }));
  return item;
}

export function enhanceCompletion(root = document) {
  for (const [selector, field] of Object.entries(FIELDS))
    for (const text of root.querySelectorAll(selector)) new Completion(text, field).start();
}
