/** Shows the pictures of a post large. */

import { openLayer } from "./layers.js";
import { part } from "./picture_parts.js";

const SWIPE_PX = 50;
let viewer; // a promise of the viewer

async function loadViewer() {
  const element = await part("dialog.viewer");
  document.body.append(element);
  return new Viewer(element);
}

class Viewer {
  #links = [];
  #at = 0;
  #start = null; // event at which a finger or the mouse went down

  constructor(element) {
    this.element = element;
    this.stage = element.querySelector(".viewer-stage");
    this.count = element.querySelector("#viewer-count");
    this.alt = element.querySelector(".viewer-alt");
    this.download = element.querySelector("[download]");
    this.report = element.querySelector(".viewer-report");
    this.steps = element.querySelectorAll("[data-step]");
    const isReversed = getComputedStyle(element).direction === "rtl";
    element.onkeydown = (event) => {
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
      event.preventDefault();
      this.#step((event.key === "ArrowRight") !== isReversed ? 1 : -1);
    };
    element.onclick = (event) => {
      const step = event.target.closest("[data-step]");
      if (step) this.#step(Number(step.dataset.step));
      else if (event.target === this.stage || event.target.closest("[data-close]")) element.close();
    };
    element.onclose = () => this.#links[this.#at]?.focus();
    this.stage.onpointerdown = (event) => (this.#start = event.isPrimary ? event : null);
    this.stage.onpointerup = (event) => {
      if (!this.#start) return;
      const [right, down] = [event.clientX - this.#start.clientX, event.clientY - this.#start.clientY];
      this.#start = null;
      if (down >= SWIPE_PX && down > Math.abs(right)) element.close();
      else if (Math.abs(right) >= SWIPE_PX) this.#step(right < 0 !== isReversed ? 1 : -1);
    };
    this.stage.onpointercancel = () => (this.#start = null);
  }

  open(link) {
    this.#links = [...link.closest(".pictures").querySelectorAll("a.picture")];
    const report = link.closest("article")?.querySelector('a[href^="/reports/new/"]');
    this.report.hidden = !report;
    if (report) this.report.href = report.getAttribute("href");
    this.#show(this.#links.indexOf(link));
    openLayer(this.element);
  }

  #step(step) {
    const at = this.#at + step;
    if (at >= 0 && at < this.#links.length) this.#show(at);
  }

  #show(at) {
    this.#at = at;
    const link = this.#links[at];
    const shown = link.querySelector("img");
    const { alt } = shown;
    const image = Object.assign(new Image(shown.getAttribute("width"), shown.getAttribute("height")), { alt, src: link.href, draggable: false });
    this.stage.querySelector("img")?.remove();
    this.stage.prepend(image);
    const { one, many } = this.count.dataset;
    const total = this.#links.length;
    this.count.textContent = total === 1 ? one : many.replace("{n}", at + 1).replace("{total}", total);
    const isMissing = "undescribed" in link.dataset;
    this.alt.textContent = isMissing ? this.alt.dataset.missing : alt;
    this.alt.classList.toggle("missing", isMissing);
    this.download.href = link.href;
    for (const step of this.steps) step.hidden = !this.#links[at + Number(step.dataset.step)];
    if (document.activeElement?.hidden) this.element.querySelector("[data-step]:not([hidden])")?.focus();
  }
}

export async function showPicture(link) {
  viewer ??= loadViewer();
  try {
    (await viewer).open(link);
  } catch {
    viewer = undefined;
    location.assign(link.href);
  }
}
