/** Microsoft Teams: `receiving.ts` accepts activities that `verify.ts` has checked, `outgoing.ts` sends. */
import { definePlugin } from "@svc/sdk";
import { Channel, defineChannel } from "@svc/sdk/channels";
import { Retention, Storage } from "@svc/sdk/storage";
import { accountsOf, type Settings, TeamsConfig } from "./config.ts";
import { createFiles } from "./files.ts";
import { createLogin, routeOf } from "./login.ts";
import { createOutgoing } from "./outgoing.ts";
import { createReceiving } from "./receiving.ts";
import { createStore, RETENTION } from "./store.ts";
import { createTokens } from "./tokens.ts";
import { addressOf, chatTypeOf } from "./translate.ts";
import { createVerify } from "./verify.ts";

export default definePlugin({
  id: "msteams",
  api: "^1.0.0",
  section: "channels.msteams",
  config: TeamsConfig,
  requires: { storage: Storage },

  setup(gateway) {
    const { clock, log } = gateway;
    const accounts = accountsOf(gateway.config);
    const ending = new AbortController();
    gateway.onStop(() => ending.abort());
    const lifetime = { clock, signal: ending.signal };
    const store = createStore(gateway.services.storage, clock);
    const [tokenOf, verify, files] = [createTokens(lifetime), createVerify(lifetime), createFiles(clock)];
    const shared = { clock, log, accounts, tokenOf, verify, store, files };
    const { post, functions } = createOutgoing(shared);
    const { run, handler } = createReceiving(shared, post);

    const channel = defineChannel<Settings>({
      label: "Microsoft Teams",
      aliases: ["teams"],
      capabilities: {
        chats: ["direct", "group"],
        maxTextChars: 15_000, // Teams counts bytes of UTF-16, and accepts at least 40 KB
        markup: "html",
        threads: true,
        media: ["file", "image", "audio", "video"],
        maxMediaBytes: 50_000_000,
        edits: true,
        editEveryMs: 2_000, // Teams accepts 1,800 requests per hour and conversation
        typing: true,
        buttons: true,
        polls: { maxOptions: 20, multiple: true },
      },
      accounts,
      target: addressOf,
      chatType: chatTypeOf,
      run,
      ...functions,
      login: createLogin(tokenOf, accounts),
      probe: async ({ accountId, settings, signal }) =>
        tokenOf(settings, signal, true).then(() => ({ ok: true, messagingEndpoint: routeOf(accountId) })),
    });
    gateway.extend(Channel, "msteams", channel);
    gateway.extend(Retention, "msteams", RETENTION);
    const summary = "Receive an activity from Microsoft Teams";
    gateway.route({ method: "POST", path: routeOf(":account"), auth: "plugin", summary, handler });
  },
});
