/** Polls: votes without a new page, and results that change while they are shown. */

import { parse, send } from "./send.js";
import { sayTimes } from "./times.js";
import { toast } from "./toast.js";
import { word } from "./words.js";

/** Show a poll as the server sent it, or only the line below its options if the reader may still vote. */
export function showPoll({ id, html }) {
  const fresh = parse(html).querySelector(".poll");
  for (const poll of document.querySelectorAll(`.poll[data-poll="${CSS.escape(String(id))}"]`)) {
    const choosing = poll.querySelector("[data-vote]") && fresh.querySelector("[data-vote]");
    const [old, put] = choosing ? [poll, fresh].map((part) => part.querySelector(".poll-people")) : [poll, fresh];
    const shown = put.cloneNode(true);
    old.replaceWith(shown);
    sayTimes(shown);
  }
}

async function vote(button) {
  const id = button.dataset.vote;
  const chosen = button.closest(".poll").querySelectorAll("input:checked");
  const fields = new FormData();
  for (const input of chosen) fields.append(input.name, input.value);
  button.disabled = true;
  const { ok, data } = await send(button.formAction, fields);
  button.disabled = false;
  if (!ok) return toast(data.fields?.choices || data.message || word("notDone"));
  showPoll({ id, html: data.html });
  document.querySelector(`.poll[data-poll="${CSS.escape(id)}"]`)?.focus({ preventScroll: true });
}

export function enhancePolls() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-vote]");
    if (!button) return;
    event.preventDefault();
    vote(button);
  });
}
