/** Password fields. */

import { word } from "./words.js";

/** A button shows the password in its field. */
export function addReveal(input) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = word("show");
  button.ariaLabel = word("showPassword");
  button.ariaPressed = "false";
  button.addEventListener("click", () => {
    const isShown = input.type === "password";
    input.type = isShown ? "text" : "password";
    button.textContent = word(isShown ? "hide" : "show");
    button.ariaPressed = String(isShown);
  });
  const box = document.createElement("div");
  box.className = "reveal";
  const hadFocus = input === document.activeElement;
  input.replaceWith(box);
  box.append(input, button);
  if (hadFocus) input.focus();
}
