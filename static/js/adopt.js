/** Forms of other pages, loaded when the first one is opened in a sheet. */

/** Load the style sheets of another page that this page lacks. */
function loadStyles(from) {
  const isNew = (link) => !document.querySelector(`link[href="${link.getAttribute("href")}"]`);
  const links = [...from.querySelectorAll('head link[rel="stylesheet"]')].filter(isNew).map((link) => document.importNode(link, true));
  document.head.append(...links);
  return Promise.all(links.map((link) => new Promise((resolve) => (link.onload = link.onerror = resolve))));
}

/** Return the form of another page for this page: its ids are made different. Throws if that page has none. */
export async function adoptForm(from) {
  const form = document.importNode(from.querySelector("form[data-composer]"), true);
  const rename = (text) => text.replace(/[\w-]+/g, "sheet-$&");
  for (const name of ["id", "for", "aria-describedby", "list"])
    for (const element of form.querySelectorAll(`[${name}]`)) element.setAttribute(name, rename(element.getAttribute(name)));
  await loadStyles(from);
  return form;
}

/** Return a short copy of a post, to be read while it is answered. */
export function aboutPost(article) {
  const copy = document.createElement("blockquote");
  copy.className = "sheet-about";
  const parts = [".post-head .post-author", ".warned > summary, .post-text"].map((selector) => article.querySelector(selector)?.cloneNode(true));
  copy.append(...parts.filter(Boolean));
  for (const element of copy.querySelectorAll("[id]")) element.removeAttribute("id");
  for (const link of copy.querySelectorAll("a")) link.replaceWith(...link.childNodes);
  return copy;
}
