/** Quotes: the quoted post changes on open pages when it is edited, deleted or removed from the quote. */

import { parse } from "./send.js";
import { sayTimes } from "./times.js";

/** Show the quoted post, or the sentence in its place, as the server sent it for this reader. */
export function showQuote({ id, html }) {
  for (const place of document.querySelectorAll(`[data-quote="${CSS.escape(String(id))}"]`)) {
    place.replaceChildren(...document.importNode(parse(html).body, true).childNodes);
    sayTimes(place);
  }
}
