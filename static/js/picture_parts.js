/** The viewer and the rows of the composer's pictures, fetched once. */

let parts;

async function load() {
  const answer = await fetch("/pictures/dialogs/", { headers: { Accept: "text/html" }, credentials: "same-origin" });
  if (!answer.ok) throw new Error(`${answer.status}`);
  const found = new DOMParser().parseFromString(await answer.text(), "text/html");
  document.head.append(found.querySelector("link"));
  return found;
}

/** Return a copy of an element of the parts. Throws without a connection. */
export async function part(selector) {
  parts ??= load();
  try {
    const element = (await parts).querySelector(selector);
    return document.importNode(element.content?.firstElementChild ?? element, true);
  } catch (error) {
    parts = undefined;
    throw error;
  }
}
