/**
 * Telegram: talk to agents in direct messages and groups.
 *
 * `api.ts` is the only file that uses the network, `translate.ts` and `outgoing.ts` are pure, and this file connects them
 * to the gateway.
 */
import { definePlugin } from "@svc/sdk";
import { Channel, type ChannelCall, defineChannel } from "@svc/sdk/channels";
import { edit, getMe, getWebhook, media, react, send, typing } from "./api.ts";
import { apiRootOf, type Settings, TelegramConfig, telegramAccounts, WEBHOOK_PATH } from "./config.ts";
import { loginSteps } from "./login.ts";
import { createMemory, type Memory } from "./memory.ts";
import { chatTypeOf, targetOf } from "./outgoing.ts";
import { probed } from "./probe.ts";
import { live, type Running } from "./receiving.ts";
import { delivered } from "./webhook.ts";

export default definePlugin({
  id: "telegram",
  api: "^1.0.0",
  section: "channels.telegram",
  config: TelegramConfig,

  setup(gateway) {
    const { clock, log } = gateway;
    const accounts = telegramAccounts(gateway.config);
    const running = new Map<string, Running>();
    const memories = new Map<string, Memory>();
    const memoryOf = (accountId: string) => {
      const memory = memories.get(accountId) ?? createMemory();
      memories.set(accountId, memory);
      return memory;
    };
    /** The call over the open connections of its account. */
    const connected = <C extends ChannelCall<Settings>>(call: C) => ({
      ...call,
      settings: { ...call.settings, agent: running.get(call.accountId)?.agent },
    });

    gateway.route({
      method: "POST",
      path: `${WEBHOOK_PATH}:account`,
      auth: "plugin",
      summary: "Updates from Telegram, for accounts with a webhookUrl",
      handler: (request) => delivered(request, accounts, running),
    });

    const channel = defineChannel<Settings>({
      label: "Telegram",
      aliases: ["tg"],
      capabilities: {
        chats: ["direct", "group"],
        maxTextChars: 4_000, // Telegram accepts 4,096 after markup, which may lengthen a text
        markup: "html",
        threads: true,
        replies: true,
        media: ["image", "audio", "video", "file"],
        maxMediaBytes: 50_000_000,
        maxCaptionChars: 1_000, // likewise 1,024
        voice: true,
        reactions: true,
        edits: true,
        editEveryMs: 1_500,
        typing: true,
        buttons: true,
        polls: { maxOptions: 10, multiple: true, maxSeconds: 600, anonymous: true },
        commandMenu: true,
      },
      accounts,
      target: targetOf,
      chatType: chatTypeOf,
      run: (run) => live(run, { clock, log, memory: memoryOf(run.accountId), running }),
      send: (message) => send(connected(message), memoryOf(message.accountId)),
      edit: (change) => edit(connected(change)),
      react: (reaction) => react(connected(reaction)),
      typing: (place) => typing(connected(place)),
      media: (request) => media(connected(request)),
      login: loginSteps(
        (accountId) => accounts.find(({ id }) => id === accountId)?.settings.apiRoot ?? apiRootOf(gateway.config),
      ),
      async probe({ settings, signal }) {
        const [bot, webhook] = await Promise.all([getMe(settings, signal), getWebhook(settings, signal)]);
        return probed(bot, webhook);
      },
    });
    gateway.extend(Channel, "telegram", channel);
  },
});
