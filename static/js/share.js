/** A button on a post's page that copies its URL, if the browser allows it. */

import { toast } from "./toast.js";
import { word } from "./words.js";

async function copyAddress() {
  try {
    await navigator.clipboard.writeText(document.querySelector('link[rel="canonical"]')?.href ?? location.href);
    toast(word("copied"));
  } catch {
    toast(word("notDone"));
  }
}

export function offerAddress() {
  const button = document.getElementById("share")?.content.firstElementChild.cloneNode(true);
  const last = document.querySelector('.thread-post .post-actions > [data-act="bookmark"]');
  if (!button || !last || !navigator.clipboard) return;
  button.addEventListener("click", copyAddress);
  last.after(button);
}
