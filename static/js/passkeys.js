/**
 * Passkeys (WebAuthn): forms with data-passkey ask the browser for a passkey before they are sent. They are hidden
 * without this script. `data-passkey` is "create" or "get", `data-options` the address of the options.
 * The log-in also offers passkeys in the autofill of the handle.
 */

const CHALLENGE_MS = 240_000; // before the site deletes it
let autofill; // a browser has one pending request

const decode = (text) => {
  const base64 = text.replaceAll("-", "+").replaceAll("_", "/");
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
};

const encode = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");

const decodeIds = (descriptors) => descriptors?.map((each) => ({ ...each, id: decode(each.id) }));

async function fetchOptions(form) {
  const token = form.querySelector("[name=csrfmiddlewaretoken]").value;
  const answer = await fetch(form.dataset.options, {
    method: "POST",
    body: new URLSearchParams({ purpose: form.dataset.purpose ?? "" }),
    headers: { Accept: "application/json", "X-CSRFToken": token },
  });
  const { publicKey } = await answer.json();
  return {
    ...publicKey,
    challenge: decode(publicKey.challenge),
    user: publicKey.user && { ...publicKey.user, id: decode(publicKey.user.id) },
    allowCredentials: decodeIds(publicKey.allowCredentials),
    excludeCredentials: decodeIds(publicKey.excludeCredentials),
  };
}

/** Return the credential as the JSON that the site reads. */
function toText({ id, rawId, type, response }) {
  const parts = ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"];
  const encoded = parts.filter((name) => response[name]).map((name) => [name, encode(response[name])]);
  return JSON.stringify({ id, rawId: encode(rawId), type, response: Object.fromEntries(encoded) });
}

function send(form, credential) {
  form.querySelector("[name=credential]").value = toText(credential);
  form.submit();
}

async function offerAutofill(form) {
  if (document.hidden) return document.addEventListener("visibilitychange", () => offerAutofill(form), { once: true });
  autofill = new AbortController();
  const { signal } = autofill;
  setTimeout(() => autofill.abort("old"), CHALLENGE_MS);
  try {
    const publicKey = await fetchOptions(form);
    send(form, await navigator.credentials.get({ publicKey, mediation: "conditional", signal }));
  } catch {
    if (signal.reason === "old") void offerAutofill(form);
  }
}

async function submit(form) {
  autofill?.abort();
  const error = form.querySelector("[data-passkey-error]");
  error.hidden = true;
  form.setAttribute("aria-busy", "true");
  try {
    const publicKey = await fetchOptions(form);
    const credential = await navigator.credentials[form.dataset.passkey]({ publicKey });
    send(form, credential);
  } catch {
    error.hidden = false;
    form.removeAttribute("aria-busy");
  }
}

if (window.PublicKeyCredential) {
  for (const form of document.querySelectorAll("form[data-passkey]")) {
    form.hidden = false;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void submit(form);
    });
  }
  for (const text of document.querySelectorAll("[data-without-passkeys]")) text.hidden = true;
  const login = document.querySelector("form[data-passkey][data-purpose=login]");
  if (login && (await PublicKeyCredential.isConditionalMediationAvailable?.())) void offerAutofill(login);
}
