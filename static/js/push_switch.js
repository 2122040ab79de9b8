/** The switch of the page "Notifications on this device". */

let tools;

/** `given`: {send, toast, word} of the page. */
export function offerSwitch(button, given) {
  tools = given;
  document.querySelector("[data-push-unsupported]").hidden = true;
  const off = document.querySelector("form[data-push-off]");
  const denied = document.querySelector("[data-push-denied]");
  if (Notification.permission === "denied") denied.hidden = false;
  else button.hidden = off !== null;
  button.addEventListener("click", () => turnOn(button, denied));
  off?.addEventListener("submit", turnOff);
}

async function turnOn(button, denied) {
  button.disabled = true;
  try {
    if ((await Notification.requestPermission()) === "granted" && (await subscribe(button.dataset.pushOn))) return location.reload();
    denied.hidden = Notification.permission !== "denied";
  } catch {
    tools.toast(tools.word("notDone")); // the push service cannot be reached
  }
  button.disabled = false;
}

async function subscribe(applicationServerKey) {
  const { pushManager } = await navigator.serviceWorker.ready;
  const subscription = await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey });
  const { endpoint, keys } = subscription.toJSON();
  const { ok, data } = await tools.send("/accounts/notifications/device/", { endpoint, ...keys });
  if (!ok) tools.toast(data.message || tools.word("notDone"));
  return ok;
}

async function turnOff() {
  const { pushManager } = await navigator.serviceWorker.ready;
  await (await pushManager.getSubscription())?.unsubscribe();
}
