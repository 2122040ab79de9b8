/** The service worker. */

import { send } from "./send.js";
import { toast } from "./toast.js";
import { word } from "./words.js";

/** Install the service worker for signed-in readers. It needs HTTPS or this machine. */
export function installWorker() {
  if (!("serviceWorker" in navigator) || !document.body.dataset.handle) return;
  addEventListener("load", () => navigator.serviceWorker.register("/sw.js").catch(() => {}));
  const button = document.querySelector("[data-push-on]");
  if (button && "PushManager" in window && "Notification" in window)
    import("./push_switch.js").then(({ offerSwitch }) => offerSwitch(button, { send, toast, word }));
}
