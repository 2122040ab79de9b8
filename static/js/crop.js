/**
 * Shows a chosen avatar, header or logo in its place before it is saved, and lets the user choose the part: a frame that
 * is dragged, or moved by arrow keys. The form sends the part as fractions of the picture. Without this script the site
 * takes the middle.
 */

const PREVIEW_PX = 480;
const STEP = 0.02;

class Crop {
  #dragged = null;

  constructor(box, bitmap) {
    this.bitmap = bitmap;
    const part = box.querySelector("template").content.firstElementChild.cloneNode(true);
    this.canvas = part.querySelector("canvas");
    this.size = part.querySelector("[type=range]");
    this.field = part.querySelector("[type=hidden]");
    this.preview = document.createElement("canvas");
    const { width, height } = bitmap;
    const scale = Math.min(1, PREVIEW_PX / Math.max(width, height));
    [this.canvas.width, this.canvas.height] = [width, height].map((side) => Math.max(1, Math.round(side * scale)));
    const ratio = Number(box.dataset.crop);
    [this.preview.width, this.preview.height] = [PREVIEW_PX, Math.round(PREVIEW_PX / ratio)];
    // the largest frame, as fractions of the picture
    this.most = width / height > ratio ? [(height * ratio) / width, 1] : [1, width / ratio / height];
    this.center = [0.5, 0.5];
    this.element = part;
    this.canvas.addEventListener("keydown", (event) => this.#keyed(event));
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      this.#dragged = [event.clientX, event.clientY];
    });
    this.canvas.addEventListener("pointermove", (event) => this.#drag(event));
    for (const kind of ["pointerup", "pointercancel"]) this.canvas.addEventListener(kind, () => (this.#dragged = null));
    this.size.addEventListener("input", () => this.show());
  }

  /** Draw the picture with its frame, and write the part into the form. */
  show() {
    const sides = this.most.map((side) => side * Number(this.size.value));
    this.center = this.center.map((at, n) => Math.min(1 - sides[n] / 2, Math.max(sides[n] / 2, at)));
    const [left, top] = this.center.map((at, n) => Math.max(0, at - sides[n] / 2));
    this.field.value = [left, top, ...sides].map((each) => Math.min(1, each).toFixed(4)).join(",");
    const { width, height } = this.canvas;
    const context = this.canvas.getContext("2d");
    context.drawImage(this.bitmap, 0, 0, width, height);
    const frame = [left * width, top * height, sides[0] * width, sides[1] * height];
    context.fillStyle = "rgb(0 0 0 / 0.6)";
    context.beginPath();
    context.rect(0, 0, width, height);
    context.rect(...frame);
    context.fill("evenodd");
    context.lineWidth = 2;
    context.strokeStyle = "white";
    context.strokeRect(...frame);
    const source = [left * this.bitmap.width, top * this.bitmap.height, sides[0] * this.bitmap.width, sides[1] * this.bitmap.height];
    this.preview.getContext("2d").clearRect(0, 0, this.preview.width, this.preview.height);
    this.preview.getContext("2d").drawImage(this.bitmap, ...source, 0, 0, this.preview.width, this.preview.height);
  }

  #drag(event) {
    if (!this.#dragged) return;
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = this.#dragged;
    this.center = [this.center[0] + (event.clientX - x) / box.width, this.center[1] + (event.clientY - y) / box.height];
    this.#dragged = [event.clientX, event.clientY];
    this.show();
  }

  #keyed(event) {
    const step = event.shiftKey ? 5 * STEP : STEP;
    const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] };
    if (event.key === "+" || event.key === "=") this.size.value = Number(this.size.value) + step;
    else if (event.key === "-") this.size.value = Number(this.size.value) - step;
    else if (moves[event.key]) this.center = this.center.map((at, n) => at + moves[event.key][n]);
    else return;
    event.preventDefault();
    this.show();
  }
}

async function offerCrop(box, input, shown) {
  const frame = box.querySelector(".picture-frame");
  const [file] = input.files;
  const bitmap = file && (await createImageBitmap(file).catch(() => null)); // the site may read what the browser cannot
  if (file !== input.files[0]) return;
  box.querySelector(".crop")?.remove();
  if (!bitmap) return frame.replaceChildren(...(file ? [file.name] : shown));
  const crop = new Crop(box, bitmap);
  const place = frame.querySelector(".avatar") ?? frame;
  place.replaceChildren(crop.preview);
  input.after(crop.element);
  crop.show();
}

for (const box of document.querySelectorAll("[data-crop]")) {
  const input = box.querySelector("[type=file]");
  const shown = [...box.querySelector(".picture-frame").childNodes].map((node) => node.cloneNode(true));
  input.addEventListener("change", () => offerCrop(box, input, shown));
}
