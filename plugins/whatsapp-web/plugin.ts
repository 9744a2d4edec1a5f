/**
 * Personal numbers for the channel `whatsapp`: the gateway is a linked device of the number.
 *
 * `run.ts` receives, `outgoing.ts` sends, `login.ts` links, `store.ts` keeps keys and messages; this file connects them to
 * the gateway. The plugin `whatsapp` owns the channel, and reads the settings.
 */
import { definePlugin } from "@svc/sdk";
import { ChannelTransport, defineTransport } from "@svc/sdk/channels";
import { Retention, Storage } from "@svc/sdk/storage";
import { addressOf, isGroup } from "./address.ts";
import { library } from "./library.ts";
import { createLogins, logout, probe } from "./login.ts";
import { createOutgoing } from "./outgoing.ts";
import { type Live, runAccount } from "./run.ts";
import type { Settings } from "./settings.ts";
import { createStore, RETENTION, type Store } from "./store.ts";

export default definePlugin({
  id: "whatsapp-web",
  api: "^1.0.0",
  requires: { storage: Storage },

  setup(gateway) {
    const { clock, log, services } = gateway;
    const live = new Map<string, Live>();
    let store: Store | undefined;
    const context = async () => {
      const loaded = await library();
      store ??= createStore(services.storage, loaded, clock);
      return { clock, log, library: loaded, store, live };
    };
    const logins = createLogins(context);

    const transport = defineTransport<Settings>({
      connects: "a personal number, as a linked device",
      capabilities: {
        chats: ["direct", "group"],
        maxTextChars: 4_000,
        markup: "mrkdwn",
        replies: true,
        media: ["image", "audio", "video", "file"],
        maxMediaBytes: 64_000_000,
        voice: true,
        reactions: true,
        edits: true,
        editEveryMs: 3_000, // each edit is a message on the network
        typing: true,
        polls: { maxOptions: 12, multiple: true },
      },
      target: addressOf,
      chatType: (to) => (isGroup(to) ? "group" : "direct"),
      run: async (run) => runAccount(run, await context()),
      ...createOutgoing(context),
      login: logins.steps,
      logout: async (call) => logout(call, await context()),
      probe: async (call) => probe(call, { live }),
    });
    gateway.extend(ChannelTransport, "whatsapp.web", transport);
    gateway.extend(Retention, "whatsapp-web", RETENTION);
    gateway.onStop(() => logins.stop());
  },
});
