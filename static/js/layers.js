/** What opens over a page closes with Back: while it is open, the page has a further history entry. */

/** Show a dialog that Back, Escape and its own buttons close. */
export function openLayer(dialog) {
  dialog.showModal();
  history.pushState({ ...history.state, isLayer: true }, "");
  const close = () => dialog.close();
  addEventListener("popstate", close, { once: true });
  dialog.addEventListener(
    "close",
    () => {
      removeEventListener("popstate", close);
      if (history.state?.isLayer) history.back();
    },
    { once: true },
  );
}
