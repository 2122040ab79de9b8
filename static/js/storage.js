/** Texts that the browser keeps. Without space or permission nothing is kept. */

export function attempt(act) {
  try {
    return act();
  } catch {
    return null;
  }
}

export const stored = {
  read: (name) => attempt(() => localStorage.getItem(name)) ?? "",
  write: (name, text) => attempt(() => (text ? localStorage.setItem(name, text) : localStorage.removeItem(name))),
};
