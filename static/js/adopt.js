/** Forms of other pages. */

/** Return the form of another page for this page, with its styles and ids of its own. Throws if that page has none. */
export async function adoptForm(from) {
  const form = from.querySelector("form[data-composer]");
  for (const name of ["id", "for", "aria-describedby", "list"])
    for (const each of form.querySelectorAll(`[${name}]`)) each.setAttribute(name, each.getAttribute(name).replace(/[\w-]+/g, "sheet-$&"));
  const isNew = (link) => !document.querySelector(`link[href="${link.getAttribute("href")}"]`);
  const links = [...from.querySelectorAll('head link[rel="stylesheet"]')].filter(isNew);
  document.head.append(...links);
  await Promise.all(links.map((link) => new Promise((resolve) => (link.onload = link.onerror = resolve))));
  return form;
}

/** Return a short copy of a post that is answered. */
export function aboutPost(article) {
  const copy = document.createElement("blockquote");
  copy.className = "sheet-about";
  const parts = [".post-head .post-author", ".warned > summary, .post-text"].map((each) => article.querySelector(each)?.cloneNode(true));
  copy.append(...parts.filter(Boolean));
  for (const each of copy.querySelectorAll("[id]")) each.removeAttribute("id");
  for (const link of copy.querySelectorAll("a")) link.replaceWith(...link.childNodes);
  return copy;
}
