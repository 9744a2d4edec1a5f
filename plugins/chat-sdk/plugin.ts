/**
 * Networks for which the gateway has no plugin of its own, through adapters of the chat SDK.
 *
 * `adapter.ts` finds adapters, `run.ts` runs them, `chat.ts` and `webhook.ts` receive, `outgoing.ts` sends; this file connects
 * them to the gateway.
 */
import { definePlugin } from "@svc/sdk";
import { Channel, defineChannel } from "@svc/sdk/channels";
import { Retention, Storage } from "@svc/sdk/storage";
import { accountsOf, ChatSdkConfig, type Settings } from "./config.ts";
import { createLogin } from "./login.ts";
import { createOutgoing } from "./outgoing.ts";
import { type Live, runAccount } from "./run.ts";
import { createStates, RETENTION } from "./state.ts";
import { addressOf, isDirect } from "./translate.ts";
import { createWebhook, webhookOf } from "./webhook.ts";

export default definePlugin({
  id: "chat-sdk",
  api: "^1.0.0",
  section: "channels.chat-sdk",
  config: ChatSdkConfig,
  requires: { storage: Storage },

  setup(gateway) {
    const { clock, log, services } = gateway;
    const accounts = accountsOf(gateway.config);
    const live = new Map<string, Live>();
    let states: ReturnType<typeof createStates> | undefined;
    const stateOf = (accountId: string) => (states ??= createStates(services.storage, clock))(accountId);
    const context = { clock, log, directory: () => gateway.stateDir, stateOf };

    const channel = defineChannel<Settings>({
      label: "Chat SDK",
      // Choice: what the strictest of the networks accept, because the capabilities are those of the channel.
      capabilities: {
        chats: ["direct", "group"],
        maxTextChars: 1_000, // Instagram; SMS 1,600, Messenger 2,000
        markup: "markdown",
        replies: true,
        media: ["image", "audio", "video", "file"],
        maxCaptionChars: 0,
        reactions: true,
        edits: true,
        editEveryMs: 3_000,
        typing: true,
        buttons: true,
      },
      accounts,
      target: addressOf,
      chatType(to) {
        if (to.startsWith("user:")) return "direct";
        const running = [...live.values()].find(({ adapter }) => to.startsWith(`${adapter.name}:`));
        return running && isDirect(running.adapter, to) ? "direct" : "group";
      },
      run: (run) => runAccount(run, context, live),
      ...createOutgoing(live),
      login: createLogin(context),
    });
    gateway.extend(Channel, "chat-sdk", channel);
    gateway.extend(Retention, "chat-sdk", RETENTION);

    const handler = createWebhook({ accounts, live, clock, log });
    const maxBodyBytes = Math.max(...accounts.map(({ settings }) => settings.maxBodyBytes));
    const route = { path: webhookOf(":account"), auth: "plugin", maxBodyBytes, handler } as const;
    gateway.route({ ...route, method: "POST", summary: "Receive messages for an adapter" });
    gateway.route({ ...route, method: "GET", summary: "Verify the address for an adapter" });
  },
});
