/** The texts of templates/_words.html, in the reader's language. */

const words = document.getElementById("script-texts")?.dataset ?? {};
export const language = `${document.documentElement.lang}-u-nu-latn`; // digits as in the server's texts
const plurals = new Intl.PluralRules(language);
const numbers = new Intl.NumberFormat(language, { useGrouping: "always" });
const samples = (words.plurals ?? "").split(" ").map(Number); // the least number of each plural form of the catalogue

/** Return a text; with a number, its plural form with the number. */
export function word(name, n) {
  if (n === undefined) return words[name] ?? "";
  const form = samples.find((sample) => plurals.select(sample) === plurals.select(n)) ?? samples.at(-1);
  return (words[`${name}-${form}`] ?? "").replace("{n}", numbers.format(n));
}

/** Return a new element with values. */
export const make = (name, values) => Object.assign(document.createElement(name), values);

export const number = (n) => numbers.format(n);
