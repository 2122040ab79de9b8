/** Shows the server's times in the reader's time zone, recent ones relative to now. */

import { language, word } from "./words.js";

const tag = navigator.languages.find((each) => language.startsWith(each.slice(0, 2))) ?? language;
const dates = (options) => new Intl.DateTimeFormat(`${tag.split(/-\w-|@/)[0]}-u-ca-gregory-nu-latn`, options);
const relative = new Intl.RelativeTimeFormat(language, { style: /^(en|ja)/.test(language) ? "narrow" : "short" });
const full = dates({ dateStyle: "medium", timeStyle: "short" });
const day = dates({ day: "numeric", month: "short" });
const year = dates({ day: "numeric", month: "short", year: "numeric" });

/** "now", "5m ago", "2d ago", "12 Nov", "12 Nov 2024". Both arguments are Unix ms. */
export function spoken(at, now) {
  const seconds = (now - at) / 1000;
  if (seconds < 45) return word("now");
  if (seconds < 3600) return relative.format(-Math.max(1, Math.floor(seconds / 60)), "minute");
  if (seconds < 86400) return relative.format(-Math.floor(seconds / 3600), "hour");
  if (seconds < 7 * 86400) return relative.format(-Math.floor(seconds / 86400), "day");
  const sameYear = new Date(at).getFullYear() === new Date(now).getFullYear();
  return (sameYear ? day : year).format(at);
}

export function sayTimes(root = document) {
  const now = Date.now();
  for (const element of root.querySelectorAll("time[datetime]")) {
    const at = Date.parse(element.dateTime);
    if (Number.isNaN(at)) continue;
    const absolute = full.format(at);
    element.title ||= absolute;
    const text = element.closest(".thread-post, [data-absolute]") ? absolute : spoken(at, now);
    if (element.textContent !== text) element.textContent = text;
  }
}

export function keepTimes() {
  sayTimes();
  setInterval(() => document.hidden || sayTimes(), 30_000);
  document.addEventListener("visibilitychange", () => document.hidden || sayTimes());
}
