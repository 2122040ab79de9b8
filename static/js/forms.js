/**
 * Forms that lose nothing. A refused form keeps what was typed, passwords and files too: it is sent without leaving the
 * page, and only its errors are taken from the answer. `data-done` is the page after the form. With `data-guard` the
 * browser asks before a changed form is left. The sign-up also says, while somebody types, whether the handle is free
 * and what the password lacks; `data-check` is the address of the check.
 */

const PAUSE_MS = 400;

const boxOf = (input) => input.closest(".field");

/** Show the errors of `fresh`, the same form as the site answered it. */
function showErrors(form, fresh) {
  form.querySelector(".notice-error")?.remove();
  const notice = fresh.querySelector("form[data-done] .notice-error");
  if (notice) form.prepend(document.importNode(notice, true));
  for (const input of form.querySelectorAll(".field :is(input:not([type=hidden]), textarea, select)[id]")) {
    const errors = fresh.getElementById(`${input.id}_error`);
    setError(input, errors ? [...errors.children].map((item) => item.textContent) : []);
  }
  (form.querySelector("[aria-invalid=true]") ?? form.querySelector(".notice-error"))?.focus();
}

function setError(input, texts) {
  const box = boxOf(input);
  const help = box.querySelector(".help");
  const id = `${input.id}_error`;
  box.querySelector(".errors")?.remove();
  box.classList.toggle("field-wrong", texts.length > 0);
  input.ariaInvalid = texts.length ? "true" : null;
  const described = [texts.length && id, help?.id].filter(Boolean).join(" ");
  if (described) input.setAttribute("aria-describedby", described);
  else input.removeAttribute("aria-describedby");
  if (!texts.length) return;
  const list = Object.assign(document.createElement("ul"), { className: "errors", id });
  list.append(...texts.map((textContent) => Object.assign(document.createElement("li"), { textContent })));
  (input.closest(".reveal, .prefixed") ?? input).after(list);
}

/** Show the reason of an answer without the form, such as a limit. */
function showRefusal(form, fresh) {
  form.querySelector(".notice-error")?.remove();
  const notice = Object.assign(document.createElement("div"), { className: "notice notice-error", role: "alert", tabIndex: -1 });
  notice.textContent = fresh.querySelector("main .lead, main .notice")?.textContent.trim() ?? "";
  form.prepend(notice);
  notice.focus();
}

/** The fields of a form, without long texts that were not changed and the copies that tell what the page showed. */
function fieldsOf(form) {
  const fields = new FormData(form);
  for (const { name, value, defaultValue } of form.querySelectorAll("textarea"))
    if (value === defaultValue) for (const each of [name, `initial-${name}`, `shown-${name}`]) fields.delete(each);
  return form.enctype === "multipart/form-data" ? fields : new URLSearchParams(fields);
}

async function submit(form) {
  const body = fieldsOf(form);
  const answer = await fetch(form.action, { method: "POST", body, redirect: "manual", credentials: "same-origin" });
  if (answer.type === "opaqueredirect") {
    unguard(form);
    return location.assign(form.elements.next?.value || form.dataset.done);
  }
  form.ariaBusy = "false";
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  (fresh.querySelector("form[data-done]") ? showErrors : showRefusal)(form, fresh);
}

function keepTyped(form) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (form.ariaBusy === "true") return;
    form.ariaBusy = "true";
    await submit(form).catch(() => {
      unguard(form);
      form.submit(); // the browser tells what is wrong
    });
  });
  addEventListener("pageshow", () => (form.ariaBusy = "false"));
}

/** Tell the state of the handle and the password below their fields, in the place of the help. */
function checkWhileTyping(form) {
  const good = { handle: form.dataset.free, password1: form.dataset.good };
  const inputs = Object.keys(good).map((name) => form.elements.namedItem(name));
  const helps = new Map(inputs.map((input) => [input, boxOf(input).querySelector(".help")]));
  const texts = new Map([...helps].map(([input, help]) => [input, help.textContent]));
  let timer = 0;
  let asking;

  const tell = (input, text) => {
    const help = helps.get(input);
    help.style.minBlockSize ||= `${help.offsetHeight}px`; // what is below stays where it is
    help.textContent = text;
  };
  const check = async () => {
    asking?.abort();
    asking = new AbortController();
    const answer = await fetch(form.dataset.check, {
      method: "POST",
      body: new URLSearchParams(new FormData(form)),
      headers: { Accept: "application/json" },
      credentials: "same-origin",
      signal: asking.signal,
    });
    if (!answer.ok) return;
    const { fields } = await answer.json();
    for (const input of inputs) {
      if (input.value) tell(input, fields[input.name] ?? good[input.name]);
    }
  };
  for (const input of inputs) {
    helps.get(input).role = "status";
    input.addEventListener("input", () => {
      clearTimeout(timer);
      asking?.abort();
      setError(input, []);
      tell(input, texts.get(input));
      timer = setTimeout(() => check().catch(() => {}), PAUSE_MS);
    });
  }
}

const guards = new Map(); // changed form -> function that asks
const stateOf = (form) => JSON.stringify([...new FormData(form)].map(([name, value]) => [name, value.name ?? value]));

function unguard(form) {
  removeEventListener("beforeunload", guards.get(form));
}

/** Let the browser ask before the page is left, while the form differs from what the page showed. */
function guard(form) {
  const shown = stateOf(form);
  guards.set(form, (event) => event.preventDefault());
  const look = () => {
    unguard(form); // a page without the listener stays in the browser's back/forward cache
    if (stateOf(form) !== shown) addEventListener("beforeunload", guards.get(form));
  };
  for (const kind of ["input", "change"]) form.addEventListener(kind, look);
}

/** A field above many choices shows only those that contain its text. */
for (const filter of document.querySelectorAll("[data-filter]")) {
  const box = boxOf(filter);
  const fold = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
  box.hidden = false;
  filter.addEventListener("input", () => {
    for (const label of box.nextElementSibling.children) label.hidden = !fold(`${label.textContent} ${label.lang}`).includes(fold(filter.value.trim()));
  });
  filter.addEventListener("keydown", (event) => event.key === "Enter" && event.preventDefault());
}

for (const form of document.querySelectorAll("form[data-done]")) {
  keepTyped(form);
  if ("guard" in form.dataset) guard(form);
  if (form.dataset.check) checkWhileTyping(form);
}
