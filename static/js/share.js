/** Links that copy their address, or open the share sheet of a phone. */

import { toast } from "./toast.js";
import { word } from "./words.js";

async function onClick(event) {
  const link = event.target.closest?.("a[data-copy]");
  if (!link || !navigator.clipboard || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  link.closest("details").open = false;
  try {
    if (navigator.share && matchMedia("(pointer: coarse)").matches) return await navigator.share({ url: link.href });
    await navigator.clipboard.writeText(link.href);
    toast(word("copied"));
  } catch (error) {
    if (error.name !== "AbortError") toast(word("notDone"));
  }
}

export function offerAddress() {
  document.addEventListener("click", onClick);
}
