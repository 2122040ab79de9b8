{% load static %}/* The service worker: the offline page, and notifications. It stores the offline page and its files, no other page. */

const OFFLINE = "/offline/";
const DEVICE = "/accounts/notifications/device/";
const FILES = ["{% static "css/site.css" %}", "{% static "css/errors.css" %}", "{% static "favicon.svg" %}"];
const CACHE = "offline:" + FILES.join();

self.addEventListener("install", (event) => {
  event.waitUntil(fillCache());
  self.skipWaiting();
});

async function fillCache() {
  const cache = await caches.open(CACHE);
  const files = FILES.map((path) => new Request(path, { credentials: "omit" })); // the page has loaded most of them
  await cache.addAll([new Request(OFFLINE, { credentials: "omit", cache: "reload" }), ...files]);
}

self.addEventListener("activate", (event) => event.waitUntil(takeOver()));

async function takeOver() {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name !== CACHE).map((name) => caches.delete(name)));
  await self.registration.navigationPreload?.enable();
}

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET") return;
  if (request.mode === "navigate") event.respondWith(loadPage(event));
  else if (FILES.includes(new URL(request.url).pathname)) event.respondWith(loadFile(request));
});

async function loadPage(event) {
  try {
    return (await event.preloadResponse) ?? (await fetch(event.request));
  } catch {
    return (await caches.match(OFFLINE)) ?? Response.error();
  }
}

async function loadFile(request) {
  try {
    return await fetch(request);
  } catch {
    return (await caches.match(request, { ignoreVary: true })) ?? Response.error();
  }
}

self.addEventListener("push", (event) => {
  const { title, body, icon, url, notification_id: tag } = event.data.json();
  const options = { body, tag, data: { url }, icon: icon || "{% static "icon-192.png" %}" };
  event.waitUntil(self.registration.showNotification(title, options));
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data.url));
});

self.addEventListener("pushsubscriptionchange", (event) => event.waitUntil(renew(event)));

/** Give the site the new address of this device. Its page contains the token of forms and the key of the site. */
async function renew({ oldSubscription, newSubscription }) {
  const page = await (await fetch(DEVICE)).text();
  const find = (pattern) => page.match(pattern)?.[1] ?? "";
  const options = { userVisibleOnly: true, applicationServerKey: find(/data-push-on="([\w-]+)"/) };
  const subscription = newSubscription ?? (await self.registration.pushManager.subscribe(options));
  const { endpoint, keys } = subscription.toJSON();
  const body = new URLSearchParams({ endpoint, ...keys, replaces: oldSubscription?.endpoint ?? "" });
  const token = find(/name="csrfmiddlewaretoken" value="(\w+)"/);
  await fetch(DEVICE, { method: "POST", body, headers: { Accept: "application/json", "X-CSRFToken": token } });
}

/** Show the page of a notification, in a window that is open if there is one. */
async function open(url) {
  const [window] = await self.clients.matchAll({ type: "window" });
  if (!window) return self.clients.openWindow(url);
  await window.focus();
  return window.navigate(url);
}
