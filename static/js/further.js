/** The boxes of further posts in the composer, which are published as a thread. */

const MOST = 24;
const boxesOf = (form) => [...form.querySelectorAll(".composer-further")];
const textOf = (box) => box.querySelector("textarea");
export const textsOf = (form) => boxesOf(form).map((box) => textOf(box).value);

/** Return a new box. Its ids begin with that of the first box. */
function makeBox(form, number) {
  const id = `${form.elements.text.id}-${number}`;
  const box = form.querySelector("template").content.firstElementChild.cloneNode(true);
  const [label, text, count] = box.querySelectorAll("label, textarea, p");
  label.textContent = label.textContent.replace("{n}", number);
  label.htmlFor = text.id = id;
  count.id = `${id}-count`;
  text.setAttribute("aria-describedby", count.id);
  return box;
}

/** Show one box for each text. `complete` adds the suggestions to a new box. */
export function setTexts(form, texts, complete) {
  const boxes = boxesOf(form);
  boxes.slice(texts.length).forEach((box) => box.remove());
  texts.forEach((text, at) => {
    const box = boxes[at] ?? makeBox(form, at + 2);
    if (!boxes[at]) {
      (boxesOf(form).at(-1) ?? form.querySelector("template")).after(box);
      complete(box);
    }
    textOf(box).value = text;
    enhance(form, box, complete);
  });
  form.querySelector("[data-add-post]").disabled = texts.length >= MOST;
  form.dispatchEvent(new Event("input")); // the composer counts and stores
}

/** Let the button of a box remove it. */
function enhance(form, box, complete) {
  const button = box.querySelector("[data-remove-post]");
  button.hidden = false;
  button.onclick = () => {
    const at = boxesOf(form).indexOf(box);
    setTexts(form, textsOf(form).toSpliced(at, 1), complete);
    [form.elements.text, ...boxesOf(form).map(textOf)][at].focus();
  };
}

/** Add a box and write there. An empty last box is used instead. */
export function addPost(form, complete) {
  const texts = textsOf(form);
  if (texts.at(-1) !== "") setTexts(form, [...texts, ""], complete);
  textOf(boxesOf(form).at(-1)).focus();
}
