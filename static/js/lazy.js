/** Loads the modules for pictures and cards when a reader first needs them. */

import { page, send } from "./send.js";

const editors = new WeakMap(); // form -> promise of its editor

async function withEditor(form, act) {
  if (!editors.has(form)) editors.set(form, import("./pictures.js").then(({ openEditor }) => openEditor(form)));
  try {
    await act(await editors.get(form));
  } catch (error) {
    editors.delete(form);
    throw error;
  }
}

/** Add files to the pictures of a post. Throws without a connection. */
export const addPictures = (form, files) => withEditor(form, (editor) => editor.add(files));

/** Show uploaded pictures: of the page or of an unsent draft. */
export const restorePictures = (form, contents) => withEditor(form, (editor) => contents && editor.restore(contents));

/** Return the editor of a form, or undefined without pictures. */
export const editorOf = (form) => editors.get(form);

async function openPicture(event) {
  const link = event.target.closest?.("a.picture");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  try {
    (await import("./viewer.js")).showPicture(link);
  } catch {
    location.assign(link.href);
  }
}

export function enhancePictures() {
  document.addEventListener("click", openPicture);
  document.onpointerover = ({ target, pointerType }) => {
    const link = pointerType === "mouse" && innerWidth > 959 && target.closest?.("a.avatar, a.post-author");
    if (!link) return;
    link.onpointermove = async () => {
      link.onpointermove = null; // not if the page moves below a mouse at rest
      (await import("./card.js")).rest(link, page, send);
    };
  };
}
