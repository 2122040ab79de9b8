/**
 * What opens over a page closes with Back: while it is open, the page has a further history entry. The number of open
 * layers is part of the entry, because modules that are loaded later have a copy of this one.
 */

const open = () => history.state?.layers ?? 0;

/** Show a dialog that Back, Escape and its own buttons close. */
export function openLayer(dialog) {
  const depth = open() + 1;
  dialog.showModal();
  history.pushState({ ...history.state, layers: depth }, "");
  const check = () => open() < depth && dialog.close();
  addEventListener("popstate", check);
  dialog.addEventListener(
    "close",
    () => {
      removeEventListener("popstate", check);
      if (open() >= depth) history.back();
    },
    { once: true },
  );
}
