/** Reload and Back lead to the same post at the same height. */

import { loadOlder } from "./actions.js";
import { isShown } from "./send.js";

const STORE_DELAY_MS = 200; // without scrolling, after which the place is stored
const STORED_ROWS = 3; // one of them may be deleted meanwhile
const MAX_PAGE_LIMIT = 100; // entries; the site returns at most so many
const MAX_REQUESTS = 5;

const rows = () => [...document.querySelectorAll("main :is([data-post-id], [data-account])")];
const nameOf = ({ dataset }) => dataset.postId ?? dataset.account;

function storePlace() {
  const all = rows().filter(isShown);
  const first = scrollY > 0 ? all.findIndex((row) => row.getBoundingClientRect().bottom > 0) : -1;
  const names = all.slice(first, first + STORED_ROWS).map(nameOf);
  const place = first < 0 ? null : { names, top: all[first].getBoundingClientRect().top };
  try {
    history.replaceState({ ...history.state, place }, "");
  } catch {} // some browsers limit the number of calls
}

const rowAt = ({ names }) => {
  const all = rows();
  return names.map((name) => all.find((row) => nameOf(row) === name)).find(Boolean);
};

/** Load older pages until one of the rows is there. */
async function loadUntilThere(place) {
  for (let request = 0; request < MAX_REQUESTS && !rowAt(place); request += 1) {
    const link = document.querySelector('.pager a[rel="next"]');
    if (!link) return;
    const limit = new URL(link.href).searchParams.get("limit");
    setLimit(link, MAX_PAGE_LIMIT);
    link.ariaBusy = "true"; // it does not load the same page automatically meanwhile
    await loadOlder(link);
    setLimit(document.querySelector('.pager a[rel="next"]'), limit);
  }
}

function setLimit(link, limit) {
  if (!link) return;
  const url = new URL(link.href);
  if (limit) url.searchParams.set("limit", limit);
  else url.searchParams.delete("limit");
  link.href = url;
}

async function restore(place) {
  let isMoved = false; // by the reader: then the page stays where it is
  for (const kind of ["wheel", "touchmove", "keydown", "pointerdown"])
    addEventListener(kind, () => (isMoved = true), { once: true, passive: true });
  const show = () => {
    const row = rowAt(place);
    if (row && !isShown(row)) row.closest(".joined-more > details")?.setAttribute("open", "");
    if (row && !isMoved) scrollBy({ top: row.getBoundingClientRect().top - place.top, behavior: "instant" });
  };
  history.scrollRestoration = "manual"; // the browser would restore its own place at the load event
  await loadUntilThere(place).catch(() => {});
  show();
  requestAnimationFrame(show);
  const finish = () => {
    show();
    history.scrollRestoration = "auto";
  };
  if (document.readyState === "complete") finish();
  else addEventListener("load", () => setTimeout(finish), { once: true });
}

export async function keepPlaceInHistory() {
  const { type } = performance.getEntriesByType("navigation")[0] ?? {};
  const place = history.state?.place;
  if (place && type !== "navigate") await restore(place); // a link to the same page leads to its top
  let timer = 0;
  addEventListener("scroll", () => {
    clearTimeout(timer);
    timer = setTimeout(storePlace, STORE_DELAY_MS);
  });
  addEventListener("pagehide", storePlace);
  addEventListener("click", storePlace, { capture: true, passive: true }); // the click may be on a link
}
