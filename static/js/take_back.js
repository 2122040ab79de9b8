/** Takes back posts that were just published, and gives their text back. */

import { postsOf, setPosts } from "./further.js";

/** Put the fields of a sent form into its inputs, in their order. What was typed meanwhile stays below. */
function fill(form, entries) {
  const left = [...entries];
  for (const input of form.elements) {
    if (!input.name || input.type === "hidden" || input.name === "more[]") continue;
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

/** Give the posts back as a draft, then delete them. `further` are those of the boxes. Returns the last answer. */
export async function takeBack(form, entries, ids, further, tools) {
  form.toggleAttribute("data-sensitive", entries.some(([name]) => name === "sensitive"));
  const posts = [...further, ...postsOf(form)].filter((post) => post.join(""));
  if (posts.length) setPosts(form, posts, tools);
  fill(form, entries);
  form.dispatchEvent(new Event("input"));
  for (const id of ids.toReversed()) {
    const answer = await tools.send(`/posts/${id}/delete/`, { keep_pictures: "on" });
    if (!answer.ok && answer.status !== 404) return answer;
  }
  const media = entries.filter(([name, id]) => name === "media_ids" && id).map(([, id]) => id);
  if (media.length) await tools.restorePictures(form, { ids: media, names: [] });
  return { ok: true };
}
