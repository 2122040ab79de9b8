/**
 * Pages in the browser's back/forward cache. The cookie `viewer` holds the reader's handle and the time of the last
 * change; the site empties it when the session changes. The site lets the browser keep a page only if it got the
 * cookie: then this script runs, and loads a kept page again if its reader has signed out or has changed something.
 */

const isSecure = location.protocol === "https:";
const NAME = isSecure ? "__Host-viewer" : "viewer";
const handle = document.body.dataset.handle ?? "";
let shown = "";

const read = () => document.cookie.split("; ").find((cookie) => cookie.startsWith(`${NAME}=`))?.slice(NAME.length + 1) ?? "";

/** Browsers without any cookie of the site get none here. */
function write(value) {
  if (document.cookie) document.cookie = `${NAME}=${value}; path=/; samesite=lax${isSecure ? "; secure" : ""}`;
}

/** A transition between two pages that the browser leaves out is no error. */
for (const kind of ["pageswap", "pagereveal"])
  addEventListener(kind, ({ viewTransition }) => viewTransition?.ready.catch(() => {}));

/** Pages that were left earlier are loaded again when they are shown. This page shows the change itself. */
export function noteChange() {
  write((shown = `${handle}.${Date.now()}`));
}

export function checkPagesOnReturn() {
  if (!read().startsWith(`${handle}.`)) noteChange();
  shown = read();
  document.addEventListener("submit", ({ target }) => target.method === "post" && write(`${handle}.${Date.now()}`), { capture: true });
  const { style } = document.documentElement;
  addEventListener("pagehide", () => (style.opacity = 0)); // nothing is painted before the check
  addEventListener("pageshow", ({ persisted }) => {
    if (persisted && read() !== shown) return location.reload();
    style.opacity = "";
  });
}
