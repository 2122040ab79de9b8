/** A button shows the password in its field. */

import { word } from "./words.js";

const make = (name, values) => Object.assign(document.createElement(name), values);

export function addReveal(input) {
  const button = make("button", { type: "button", textContent: word("show"), ariaLabel: word("showPassword"), ariaPressed: "false" });
  button.onclick = () => {
    const isShown = input.type === "password";
    input.type = isShown ? "text" : "password";
    button.textContent = word(isShown ? "hide" : "show");
    button.ariaPressed = String(isShown);
  };
  const box = make("div", { className: "reveal" });
  const hadFocus = input === document.activeElement;
  input.replaceWith(box);
  box.append(input, button);
  if (hadFocus) input.focus();
}
