/** The number of new entries in the page's title: "(5) Home". */

import { number } from "./words.js";

const title = document.title;
const parts = new Map(); // name -> [count, has more]

export function sayInTitle(name, count, isMore = false) {
  parts.set(name, [count, isMore]);
  const all = [...parts.values()];
  const sum = all.reduce((total, [each]) => total + each, 0);
  const more = all.some(([, each]) => each) ? "+" : "";
  document.title = sum || more ? `(${number(sum)}${more}) ${title}` : title;
}
