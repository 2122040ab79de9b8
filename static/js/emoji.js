/** The emoji of the composer. */

import { addLayer } from "./layers.js";

const fold = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
const make = (name, values) => Object.assign(document.createElement(name), values);
let emoji; // [{emoji, name, words}] in the order of Unicode

async function load(path) {
  const answer = await fetch(path);
  if (!answer.ok) throw answer;
  const [codes, ...rows] = (await answer.text()).trim().split("\n");
  const regions = new Intl.DisplayNames([document.documentElement.lang], { type: "region" });
  const flagOf = (code) => code.replace(/./g, (letter) => String.fromCodePoint(letter.charCodeAt(0) + 0x1f1a5));
  const flags = codes.match(/../g).map((code) => [flagOf(code), regions.of(code), code]);
  return [...rows.map((row) => row.split("\t")), ...flags].map(([emoji, name, ...words]) => ({ emoji, name, words: fold([emoji, name, ...words].join(" ")) }));
}

/** Open or close the panel. `findText` returns the box of the cursor, `stored` keeps the last emoji. */
export async function toggleEmoji(button, findText, insert, stored) {
  if (button.ariaExpanded === "true") return history.back();
  emoji ??= await load(button.dataset.emoji);
  if (button.ariaExpanded === "true") return; // a second click
  const search = make("input", { autocomplete: "off", placeholder: button.dataset.search, ariaLabel: button.dataset.search, role: "combobox", ariaExpanded: "true" });
  const list = make("div", { id: "emoji-list", role: "listbox", ariaLabel: button.title });
  const panel = make("div", { className: "emoji" });
  search.setAttribute("aria-controls", list.id);
  panel.append(search, list);
  button.after(panel);
  button.ariaExpanded = "true";
  let at = 0;

  function close() {
    leave();
    panel.remove();
    button.ariaExpanded = "false";
    findText().focus();
  }
  const leave = addLayer(close);
  const recent = () => stored.read("emoji-recent").split(" ");
  const go = (next) => {
    list.children[at]?.removeAttribute("aria-selected");
    at = Math.max(0, Math.min(list.children.length - 1, next));
    const option = list.children[at];
    if (!option) return;
    search.setAttribute("aria-activedescendant", option.id);
    option.ariaSelected = "true";
    option.scrollIntoView({ block: "nearest" });
  };
  const show = () => {
    const asked = fold(search.value.trim());
    const found = asked ? emoji.filter(({ words }) => words.includes(asked)).sort((a, b) => (b.name === asked) - (a.name === asked)) : [...recent().flatMap((each) => emoji.find((one) => one.emoji === each) ?? []), ...emoji];
    list.replaceChildren(...found.map(({ emoji, name }, n) => make("span", { id: `emoji-${n}`, role: "option", title: name, ariaLabel: name, textContent: emoji })));
    go(0);
  };
  const take = (option, isLast) => {
    if (!option) return;
    insert(findText(), option.textContent);
    stored.write("emoji-recent", [...new Set([option.textContent, ...recent()])].slice(0, 16).join(" "));
    if (isLast) history.back();
    else search.focus();
  };
  const columns = () => Math.floor(list.clientWidth / list.firstChild?.offsetWidth);
  const ahead = getComputedStyle(panel).direction === "rtl" ? -1 : 1;
  const steps = { ArrowDown: columns, ArrowUp: () => -columns(), ArrowRight: () => ahead, ArrowLeft: () => -ahead };
  panel.onkeydown = (event) => {
    if (event.isComposing) return;
    if (event.key === "Escape") history.back();
    else if (event.key === "Enter") take(list.children[at], !event.shiftKey);
    else if (steps[event.key]) go(at + steps[event.key]());
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  panel.oninput = (event) => {
    event.stopPropagation();
    show();
  };
  list.onpointerdown = (event) => event.preventDefault(); // the search keeps the focus
  list.onclick = (event) => take(event.target.closest("[role=option]"), !event.shiftKey);
  show();
  search.focus();
}
