/** Takes back posts that were just published, and gives their text back. */

import { setTexts, textsOf } from "./further.js";

/** Put the fields of a sent form into its inputs, in their order. What was typed meanwhile stays below. */
function fill(form, entries) {
  const left = [...entries];
  for (const input of form.elements) {
    if (!input.name || input.type === "hidden") continue;
    const isBox = input.type === "checkbox";
    const at = left.findIndex(([name, value]) => name === input.name && (!isBox || value === input.value));
    if (isBox) input.checked = at >= 0;
    if (at < 0) continue;
    const [[, value]] = left.splice(at, 1);
    if (input.name === "text") input.value = [value, input.value].filter(Boolean).join("\n\n");
    else if (!isBox) input.value = value;
    if (value && input.matches("details input:not([type])")) input.closest("details").open = true;
  }
}

/** Give the text back as a draft, then delete the posts, the last first. Returns the last answer. */
export async function takeBack(form, entries, ids, { complete, restorePictures, send }) {
  const valuesOf = (name) => entries.filter(([each, value]) => each === name && value).map(([, value]) => value);
  const texts = [...valuesOf("more[]"), ...textsOf(form).filter(Boolean)];
  if (texts.length) setTexts(form, texts, complete);
  fill(form, entries.filter(([name]) => name !== "more[]"));
  form.dispatchEvent(new Event("input"));
  let answer;
  for (const id of ids.toReversed()) {
    answer = await send(`/posts/${id}/delete/`, { keep_pictures: "on" });
    if (!answer.ok && answer.status !== 404) return answer;
  }
  const media = valuesOf("media_ids");
  if (media.length) await restorePictures(form, { ids: media, names: [] });
  return { ...answer, ok: true };
}
