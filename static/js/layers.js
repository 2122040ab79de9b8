/**
 * What opens over a page closes with Back: while it is open, the page has a further history entry. The number of open
 * layers is part of the entry, because modules loaded later have a copy of this one.
 */

const open = () => history.state?.layers ?? 0;

/** Let Back call `close`. The result notes that it is closed. */
export function addLayer(close) {
  const depth = open() + 1;
  history.pushState({ ...history.state, layers: depth }, "");
  const check = () => open() < depth && close();
  addEventListener("popstate", check);
  return () => {
    removeEventListener("popstate", check);
    if (open() >= depth) history.go(depth - 1 - open()); // also the layers above
  };
}

/** Show a dialog that Back, Escape and its own buttons close. */
export function openLayer(dialog) {
  dialog.showModal();
  dialog.addEventListener("close", addLayer(() => dialog.close()), { once: true });
}

/** A page that is read again has no open layers: leave their entries. */
export const leaveLayers = () => open() && history.go(-open());
