/** Keeps the last searches on this device, and offers them on Explore. The site does not get the list. */

import { attempt, stored } from "./storage.js";

const NAME = "draft:searches"; // logging out deletes what begins so
const MAX_KEPT = 8;

function read() {
  const kept = attempt(() => JSON.parse(stored.read(NAME)));
  return Array.isArray(kept) ? kept.filter((each) => typeof each === "string" && each) : [];
}

function offer(section) {
  const links = read().map((text) => {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.className = "btn btn-quiet btn-small";
    link.href = `/search/?q=${encodeURIComponent(text)}`;
    link.dir = "auto";
    link.textContent = text;
    item.append(link);
    return item;
  });
  section.querySelector("ul").replaceChildren(...links);
  section.hidden = !links.length;
}

const query = new URLSearchParams(location.search).get("q")?.trim();
if (query) stored.write(NAME, JSON.stringify([query, ...read().filter((each) => each !== query)].slice(0, MAX_KEPT)));

const section = document.querySelector("[data-recent-searches]");
if (section) {
  offer(section);
  section.querySelector("button").addEventListener("click", () => {
    stored.write(NAME, "");
    offer(section);
    document.querySelector("#search-query").focus();
  });
}
