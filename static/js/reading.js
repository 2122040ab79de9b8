/** Sends how far the reader has read, and loads older pages automatically, a few at a time. */

import { shownPosts, send } from "./send.js";
import { stored } from "./storage.js";

const SEEN = 1000; // ms for which a post is visible before it counts as read
const PAUSE = 2000;
const PAGES = 4; // loaded automatically; then the link stays

function keepPlace(list) {
  let newest = 0;
  let told = 0;
  let timer = 0;
  const tell = () => {
    if (newest <= told) return;
    told = newest;
    send("/positions/", { timeline: list.dataset.timeline, post: String(newest) }, { keepalive: true });
  };
  const look = () => {
    if (document.hidden) return;
    for (const post of shownPosts(list)) {
      const { top, bottom } = post.getBoundingClientRect();
      if (top > innerHeight) break;
      if (bottom > 0) newest = Math.max(newest, Number(post.dataset.postId));
    }
    if (newest > told) timer = setTimeout(tell, PAUSE);
  };
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(look, SEEN);
  };
  addEventListener("scroll", soon, { passive: true });
  document.addEventListener("posts:shown", soon);
  document.addEventListener("visibilitychange", () => (document.hidden ? tell() : soon()));
  soon();
}

function scrollOn(place) {
  const box = place.querySelector("input");
  const { handle } = document.body.dataset;
  if (!handle) box.checked = stored.read("scroll") !== "off";
  place.hidden = false;
  let left = PAGES;
  const next = () => document.querySelector('.timeline-frame .pager a[rel="next"]');
  const sight = new IntersectionObserver(
    ([entry]) => {
      if (!entry.isIntersecting || !box.checked || left < 1) return;
      left -= 1;
      entry.target.click();
    },
    { rootMargin: "0px 0px 800px" },
  );
  const watch = () => {
    sight.disconnect();
    if (next()) sight.observe(next());
  };
  box.onchange = () => {
    const value = box.checked ? "on" : "off";
    if (handle) send("/preferences/", { scroll: value });
    else stored.write("scroll", value);
    watch();
  };
  document.addEventListener("posts:more", watch);
  document.addEventListener("click", (event) => {
    if (event.isTrusted && event.target === next()) left = PAGES;
  });
  watch();
}

export function enhanceReading() {
  const list = document.querySelector("[data-place] > ol");
  const place = document.querySelector("[data-scrolling]");
  if (list) keepPlace(list);
  if (place) scrollOn(place);
}
