/** The service worker, and the switch of the page "Notifications on this device". */

import { send } from "./send.js";
import { toast } from "./toast.js";
import { word } from "./words.js";

/** Install the service worker for signed-in readers. It needs HTTPS or this machine. */
export function installWorker() {
  if (!("serviceWorker" in navigator) || document.body.dataset.signedIn !== "yes") return;
  addEventListener("load", () => navigator.serviceWorker.register("/sw.js").catch(() => {}));
  const button = document.querySelector("[data-push-on]");
  if (button && "PushManager" in window && "Notification" in window) offerSwitch(button);
}

function offerSwitch(button) {
  document.querySelector("[data-push-unsupported]").hidden = true;
  const off = document.querySelector("form[data-push-off]");
  if (Notification.permission === "denied") document.querySelector("[data-push-denied]").hidden = false;
  else button.hidden = off !== null;
  button.addEventListener("click", () => turnOn(button));
  off?.addEventListener("submit", turnOff);
}

async function turnOn(button) {
  button.disabled = true;
  try {
    if ((await Notification.requestPermission()) === "granted" && (await subscribe(button.dataset.pushOn))) {
      return location.reload();
    }
    document.querySelector("[data-push-denied]").hidden = Notification.permission !== "denied";
  } catch {
    toast(word("notDone")); // the push service cannot be reached
  }
  button.disabled = false;
}

async function subscribe(key) {
  const registration = await navigator.serviceWorker.ready;
  const subscription = await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
  const { endpoint, keys } = subscription.toJSON();
  const { ok, data } = await send("/accounts/notifications/device/", { endpoint, ...keys });
  if (!ok) toast(data.message || word("notDone"));
  return ok;
}

async function turnOff() {
  const registration = await navigator.serviceWorker.ready;
  await (await registration.pushManager.getSubscription())?.unsubscribe();
}
