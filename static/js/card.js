/** A card about an account on whose name or picture the mouse rests. */

const card = document.createElement("div");
card.className = "menu-body card";
card.hidden = true;
document.body.append(card);
let timer, path, page, send;

const hide = () => (card.hidden = true);
const later = (act, ms) => {
  clearTimeout(timer);
  timer = setTimeout(act, ms);
};
const leave = () => later(hide, 250);

async function fill() {
  const asked = path;
  const found = await page(`${path}?limit=1&card=1`);
  if (asked !== path) return;
  card.replaceChildren(...found.querySelectorAll(".profile :is(.avatar-large, h1, .handle, .bio, .counts, [data-follow])"));
  for (const each of card.children) if (!each.matches(".avatar-large, [data-follow]")) each.style.gridColumn = "1/-1";
}

async function show(link) {
  path = link.pathname;
  await fill();
  if (!link.matches(":hover")) return;
  card.hidden = false;
  const { left, top, bottom } = link.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height, style } = card;
  const focus = document.querySelector(":focus:not(main, article)")?.getBoundingClientRect();
  const fits = (y) => y > 0 && y + height < innerHeight && !(focus && y < focus.bottom && y + height > focus.top);
  const y = [bottom + 4, top - height - 4].find(fits);
  if (!y) hide();
  style.cssText = `position:fixed;inline-size:20rem;max-inline-size:none;grid-template-columns:1fr auto;gap:0.5rem;align-items:end;inset:${y}px auto auto ${Math.min(left, innerWidth - width - 24)}px`;
}

export function rest(link, ...requests) {
  if (card.contains(link)) return;
  [page, send] = requests; // this module has no copy of their state
  later(() => show(link).catch(hide), 500);
  link.addEventListener("pointerleave", leave, { once: true });
}

card.onpointerenter = () => clearTimeout(timer);
card.onpointerleave = leave;
card.onclick = async (event) => {
  const button = event.target.closest("[data-follow]");
  if (!button) return;
  event.preventDefault();
  event.stopPropagation();
  const { ok } = await send(button.formAction);
  if (ok) fill();
  else location.assign(path); // it says why
};
addEventListener("scroll", hide);
addEventListener("keydown", ({ key }) => key === "Escape" && hide());
addEventListener("focusin", ({ target }) => card.contains(target) || hide());
