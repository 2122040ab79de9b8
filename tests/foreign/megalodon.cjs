// Calls every method of megalodon's client for Mastodon against the site, and prints one line of JSON for each call:
// {"test": …, "outcome": …, "message": …}. With EXCHANGES it also writes each answer of the site to that file.
// It runs in the folder that has the package, with SITE_URL, PASSWORD and the tokens of alice and bob.

const fs = require("node:fs");
const { createRequire } = require("node:module");
const packages = createRequire(`${process.cwd()}/`);
const { Mastodon } = packages("megalodon");
const axios = packages("axios").default ?? packages("axios");

const { SITE_URL, PASSWORD, ALICE_TOKEN, BOB_TOKEN, PICTURE, EXCHANGES } = process.env;
const CALL_TIMEOUT_MS = 20_000;
const OFFLINE = "http://127.0.0.1:9/callback"; // nothing listens there: the code is read from the redirect
const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const done = new Set();

function record(answer) {
  const { method, url, baseURL } = answer.config;
  const path = new URL(url, baseURL ?? SITE_URL).pathname;
  const exchange = { method, path, status: answer.status, body: answer.data };
  if (EXCHANGES) fs.appendFileSync(EXCHANGES, `${JSON.stringify(exchange)}\n`);
  return answer;
}

function connect(token) {
  const instance = axios.create();
  instance.interceptors.response.use(record, (error) => {
    if (error.response) record(error.response);
    throw error;
  });
  return new Mastodon(SITE_URL, token, "megalodon", instance);
}

// Call one method, and print its outcome. Returns the data of the answer, or null if the call failed.
async function call(client, method, ...values) {
  done.add(method);
  let outcome = "passed";
  let message = "";
  let data = null;
  try {
    const answer = await Promise.race([
      client[method](...values),
      later(CALL_TIMEOUT_MS).then(() => {
        throw new Error("no answer in time");
      }),
    ]);
    data = answer?.data ?? answer;
  } catch (error) {
    outcome = error.name === "NotImplementedError" ? "skipped" : "failed";
    message = error.response ? `${error.response.status} ${JSON.stringify(error.response.data)}` : `${error}`;
  }
  console.log(JSON.stringify({ test: method, outcome, message }));
  return data;
}

// Log in as alice, allow the app, and return the code of the redirect.
async function authorize(url) {
  const jar = new Map();
  const send = async (address, options = {}) => {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = { ...options.headers, cookie, "X-CSRFToken": jar.get("csrftoken") ?? "", Origin: SITE_URL };
    const answer = await fetch(new URL(address, SITE_URL), { ...options, headers, redirect: "manual" });
    for (const line of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);
      jar.set(name, value);
    }
    return answer;
  };
  const post = (address, fields) => send(address, { method: "POST", body: new URLSearchParams(fields) });
  await send("/accounts/login/");
  await post("/accounts/login/", { username: "alice", password: PASSWORD });
  const answer = await post("/oauth/authorize", { ...Object.fromEntries(new URL(url).searchParams), decision: "allow" });
  return new URL(answer.headers.get("location")).searchParams.get("code");
}

async function callApps(alice) {
  const options = { scopes: ["read", "write", "follow"], redirect_uris: OFFLINE };
  const app = await call(alice, "registerApp", "An app", options);
  await call(alice, "createApp", "Another app", options);
  await call(alice, "generateAuthUrl", app.client_id, app.client_secret, { redirect_uri: OFFLINE });
  const code = await authorize(app.url);
  const token = await call(alice, "fetchAccessToken", app.client_id, app.client_secret, code, OFFLINE);
  await call(alice, "refreshToken", app.client_id, app.client_secret, "x");
  await call(connect(token?.access_token), "verifyAppCredentials");
  await call(alice, "revokeToken", app.client_id, app.client_secret, token?.access_token);
  const fields = { grant_type: "client_credentials", client_id: app.client_id, client_secret: app.client_secret };
  const own = await axios.post(`${SITE_URL}/oauth/token`, { ...fields, scope: "read write" });
  await call(connect(own.data.access_token), "registerAccount", "carol", "carol@example.org", PASSWORD, true, "en");
}

async function callAccounts(alice, bob, ids) {
  await call(alice, "verifyAccountCredentials");
  await call(alice, "updateCredentials", { note: "Tea", display_name: "Alice" });
  for (const method of ["getAccount", "getAccountStatuses", "followAccount", "getAccountFollowers"])
    await call(alice, method, ids.bob);
  for (const method of ["getAccountFollowing", "getAccountLists", "getIdentityProof", "getRelationship"])
    await call(alice, method, ids.bob);
  for (const method of ["pinAccount", "unpinAccount", "muteAccount"]) await call(alice, method, ids.bob);
  for (const method of ["getMutes", "getBlocks", "getEndorsements", "getDomainBlocks", "getPreferences"])
    await call(alice, method);
  await call(alice, "setAccountNote", ids.bob, "a friend");
  await call(alice, "getRelationships", [ids.bob, ids.alice]);
  for (const method of ["unmuteAccount", "blockAccount", "unblockAccount", "unfollowAccount"])
    await call(alice, method, ids.bob);
  for (const method of ["subscribeAccount", "unsubscribeAccount"]) await call(alice, method, ids.bob);
  for (const method of ["searchAccount", "lookupAccount"]) await call(alice, method, "bob");
  for (const method of ["blockDomain", "unblockDomain"]) await call(alice, method, "other.example");
  await call(alice, "urlToAccounts", `/api/v1/accounts/${ids.bob}/followers`, {}, false, 0);
  await bob.updateCredentials({ locked: true });
  await alice.followAccount(ids.bob);
  await call(bob, "getFollowRequests");
  await call(bob, "rejectFollowRequest", ids.alice);
  await alice.followAccount(ids.bob);
  await call(bob, "acceptFollowRequest", ids.alice);
  await bob.updateCredentials({ locked: false });
  for (const method of ["getAccountFavourites", "getSuggestions"]) await call(alice, method, 5);
}

async function callPosts(alice, bob, ids) {
  const media = await call(alice, "uploadMedia", fs.createReadStream(PICTURE), { description: "Tea" });
  await call(alice, "updateMedia", media.id, { description: "A cup of tea" });
  await call(alice, "getMedia", media.id);
  const post = await call(alice, "postStatus", "@bob about #tea", { media_ids: [media.id] });
  await alice.postStatus("https://example.org/", { quote_id: post.id, spoiler_text: "a link", language: "en" });
  await bob.postStatus("@alice yes", { in_reply_to_id: post.id });
  for (const method of ["getStatus", "getStatusContext", "getStatusSource", "favouriteStatus", "reblogStatus"])
    await call(bob, method, post.id);
  for (const method of ["getStatusRebloggedBy", "getStatusFavouritedBy", "bookmarkStatus", "muteStatus"])
    await call(bob, method, post.id);
  for (const method of ["getBookmarks", "getFavourites"]) await call(bob, method);
  for (const method of ["unmuteStatus", "unbookmarkStatus", "unreblogStatus", "unfavouriteStatus"])
    await call(bob, method, post.id);
  for (const method of ["pinStatus", "unpinStatus"]) await call(alice, method, post.id);
  await bob.favouriteStatus(post.id);
  await bob.reblogStatus(post.id);
  await call(alice, "editStatus", post.id, { status: "@bob about #tea and cake" });
  const poll = await alice.postStatus("Which?", { poll: { options: ["tea", "milk"], expires_in: 3600 } });
  await call(bob, "getPoll", poll.data.poll.id);
  await call(bob, "votePoll", poll.data.poll.id, [0]);
  const time = (hours) => new Date(Date.now() + hours * 3_600_000).toISOString();
  const scheduled = (await alice.postStatus("later", { scheduled_at: time(1) })).data;
  for (const method of ["getScheduledStatuses", "getScheduledStatus"]) await call(alice, method, scheduled.id);
  await call(alice, "scheduleStatus", scheduled.id, time(2));
  await call(alice, "cancelScheduledStatus", scheduled.id);
  await call(bob, "report", ids.alice, { status_ids: [post.id], comment: "rude", category: "other" });
  const short = (await alice.postStatus("soon gone")).data;
  await call(alice, "deleteStatus", short.id);
  return post.id;
}

async function callTimelines(alice, ids) {
  const list = await call(alice, "createList", "Friends");
  await call(alice, "updateList", list.id, "Old friends");
  await call(alice, "addAccountsToList", list.id, [ids.bob]);
  for (const method of ["getList", "getAccountsInList", "getListTimeline"]) await call(alice, method, list.id);
  await callStreams(alice, list.id);
  await call(alice, "deleteAccountsFromList", list.id, [ids.bob]);
  await call(alice, "deleteList", list.id);
  for (const method of ["getLists", "getHomeTimeline", "getPublicTimeline", "getLocalTimeline"])
    await call(alice, method);
  await call(alice, "getConversationTimeline");
  for (const method of ["deleteConversation", "readConversation"]) await call(alice, method, "1");
  for (const method of ["getTagTimeline", "getTag", "followTag"]) await call(alice, method, "tea");
  await call(alice, "getFollowedTags");
  await call(alice, "unfollowTag", "tea");
  const tag = await call(alice, "createFeaturedTag", "tea");
  for (const method of ["getFeaturedTags", "getSuggestedTags"]) await call(alice, method);
  await call(alice, "deleteFeaturedTag", tag.id);
  for (const type of ["accounts", "statuses", "hashtags"]) await call(alice, "search", "tea", { type });
  const filter = await call(alice, "createFilter", "tiger", ["home"]);
  await call(alice, "getFilters");
  await call(alice, "getFilter", filter.id);
  await call(alice, "updateFilter", filter.id, "lion", ["home", "public"]);
  await call(alice, "deleteFilter", filter.id);
}

// Each stream must deliver a post; `direct` has none here, so it must connect.
async function callStreams(alice, listId) {
  const bob = connect(BOB_TOKEN);
  await call(alice, "streamingURL");
  const streams = {
    userStreaming: [], publicStreaming: [], localStreaming: [], directStreaming: [], tagStreaming: ["tea"],
    listStreaming: [listId],
  };
  for (const [method, values] of Object.entries(streams)) {
    const open = async () => {
      const stream = await alice[method](...values);
      const heard = (event) => new Promise((resolve) => stream.once(event, resolve));
      const connected = heard("connect");
      const event = method === "directStreaming" ? connected : heard("update");
      await connected; // the client starts by itself
      await later(200); // the subscription
      await bob.postStatus(`a #tea for ${method}`);
      await event;
      stream.stop();
    };
    done.add(method);
    await call({ [method]: open }, method);
  }
}

async function callNotifications(alice, ids, postId) {
  const found = await call(alice, "getNotifications");
  await readFurther(ids, postId);
  await call(alice, "getNotification", found[0].id);
  await call(alice, "saveMarkers", { notifications: { last_read_id: found[0].id } });
  await call(alice, "getMarkers", ["home", "notifications"]);
  await call(alice, "readNotifications", {});
  await call(alice, "dismissNotification", found[0].id);
  await call(alice, "dismissNotifications");
  const keys = require("node:crypto").createECDH("prime256v1");
  const subscription = {
    endpoint: "https://push.example.org/send/1",
    keys: { p256dh: keys.generateKeys("base64url"), auth: "AAAAAAAAAAAAAAAAAAAAAA" },
  };
  await call(alice, "subscribePushNotification", subscription, { alerts: { mention: true } });
  await call(alice, "getPushSubscription");
  await call(alice, "updatePushSubscription", { alerts: { follow: true } });
  await call(alice, "deletePushSubscription");
}

async function callInstance(alice) {
  for (const method of ["getInstance", "getInstancePeers", "getInstanceActivity", "getInstanceTrends"])
    await call(alice, method);
  for (const method of ["getInstanceDirectory", "getInstanceCustomEmojis", "getInstanceAnnouncements"])
    await call(alice, method);
  await call(alice, "dismissInstanceAnnouncement", "1");
  for (const method of ["addReactionToAnnouncement", "removeReactionFromAnnouncement"])
    await call(alice, method, "1", "tea");
  for (const method of ["createEmojiReaction", "deleteEmojiReaction", "getEmojiReactions", "getEmojiReaction"])
    await call(alice, method, "1", "tea");
}

// Read what megalodon has no method for, so that these answers are compared with the schema, too.
async function readFurther(ids, postId) {
  const paths = [
    "/.well-known/oauth-authorization-server",
    ...["", "/rules", "/extended_description", "/privacy_policy", "/terms_of_service", "/languages"].map(
      (rest) => `/api/v1/instance${rest}`,
    ),
    "/api/v1/instance/translation_languages",
    ...["instance", "filters", "notifications", "notifications/unread_count", "notifications/policy", "suggestions"].map(
      (rest) => `/api/v2/${rest}`,
    ),
    ...["tags", "statuses", "links"].map((rest) => `/api/v1/trends/${rest}`),
    ...["", "/history", "/quotes", "/context"].map((rest) => `/api/v1/statuses/${postId}${rest}`),
    ...["", "/featured_tags", "/endorsements"].map((rest) => `/api/v1/accounts/${ids.bob}${rest}`),
    "/api/v1/notifications/unread_count",
    "/api/v1/notifications/requests",
    "/api/v1/profile",
    `/api/v1/statuses?id[]=${postId}`,
    `/api/v1/accounts?id[]=${ids.bob}`,
    `/api/v1/accounts/familiar_followers?id[]=${ids.bob}`,
    "/api/v1/statuses/7",
    "/api/v1/timelines/home?limit=none",
  ];
  for (const token of [ALICE_TOKEN, "wrong"])
    for (const path of paths) {
      const headers = { Authorization: `Bearer ${token}` };
      record(await axios.get(SITE_URL + path, { headers, validateStatus: () => true }));
    }
}

async function main() {
  const [alice, bob] = [connect(ALICE_TOKEN), connect(BOB_TOKEN)];
  const own = async (client) => (await client.verifyAccountCredentials()).data.id;
  const ids = { alice: await own(alice), bob: await own(bob) };
  await bob.followAccount(ids.alice);
  await callApps(alice);
  await callAccounts(alice, bob, ids);
  const postId = await callPosts(alice, bob, ids);
  await callTimelines(alice, ids);
  await callNotifications(alice, ids, postId);
  await callInstance(alice);
  for (const method of Object.getOwnPropertyNames(Mastodon.prototype))
    if (!done.has(method) && !["constructor", "cancel"].includes(method))
      console.log(JSON.stringify({ test: method, outcome: "failed", message: "this file does not call it" }));
}

main().then(
  () => process.exit(0),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
