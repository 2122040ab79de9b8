/** The boxes of further posts, which are published as a thread. */

const MOST = 24;
let made = 0; // boxes: each has ids of its own
const boxesOf = (form) => [...form.querySelectorAll(".composer-further")];
const textOf = (box) => box.querySelector("textarea");

/** Return the text of each box, and the ids of its pictures. */
export const postsOf = (form) => boxesOf(form).map((box) => [textOf(box).value, box.querySelector("[type=hidden]").value]);

/** Add a box. Its ids begin with that of the first box. */
function addBox(form, post, { complete, restorePictures }) {
  const [text, media = ""] = [post].flat(); // an earlier release stored texts alone
  const box = form.querySelector("template").content.firstElementChild.cloneNode(true);
  const [label, remove, input, pictures, count] = box.querySelectorAll("label, button, textarea, input, p");
  label.htmlFor = input.id = `${form.elements.text.id}-${++made}`;
  count.id = `${input.id}-count`;
  input.setAttribute("aria-describedby", count.id);
  input.value = text;
  pictures.value = media;
  form.querySelector(".composer-foot").before(box);
  complete(box);
  if (media) restorePictures(box, { ids: media.split(" "), names: [] }).catch(() => {});
  remove.hidden = false;
  remove.onclick = () => {
    const texts = [...form.querySelectorAll("[data-max]")];
    box.remove();
    changed(form);
    texts[texts.indexOf(input) - 1].focus();
  };
}

function changed(form) {
  const boxes = boxesOf(form);
  const { textContent } = form.querySelector("template").content.querySelector("label");
  boxes.forEach((box, at) => (box.firstChild.textContent = textContent.replace("{n}", at + 2)));
  form.querySelector("[data-add-post]").disabled = boxes.length >= MOST;
  form.dispatchEvent(new Event("input")); // the composer counts and stores
}

/** Show a box for each post. */
export function setPosts(form, posts, tools) {
  boxesOf(form).forEach((box) => box.remove());
  posts.forEach((post) => addBox(form, post, tools));
  changed(form);
}

/** Add a box and write there. An empty last box is used instead. */
export function addPost(form, tools) {
  if (postsOf(form).at(-1)?.join("") !== "") addBox(form, "", tools);
  changed(form);
  textOf(boxesOf(form).at(-1)).focus();
}
