/** The texts of templates/_words.html, in the reader's language. */

const words = document.getElementById("words")?.dataset ?? {};
export const language = document.documentElement.lang || "en";
const plurals = new Intl.PluralRules(language);
const numbers = new Intl.NumberFormat(language);

/** Return a text; with a number, its singular or plural form with the number. */
export function word(name, n) {
  if (n === undefined) return words[name] ?? "";
  const form = plurals.select(n) === "one" ? "One" : "Other";
  return (words[name + form] ?? "").replace("{n}", numbers.format(n));
}

export const number = (n) => numbers.format(n);
