/**
 * Telegram: talk to agents in direct messages and groups.
 *
 * `api.ts` is the only file that uses the network, `translate.ts` and `outgoing.ts` are pure, and this file connects them
 * to the gateway.
 */
import { definePlugin } from "@svc/sdk";
import { Channel, defineChannel } from "@svc/sdk/channels";
import { edit, getMe, getWebhook, media, react, send, typing } from "./api.ts";
import { API_ROOT, type Settings, TelegramConfig, telegramAccounts } from "./config.ts";
import { loginSteps } from "./login.ts";
import { createMemory, type Memory } from "./memory.ts";
import { chatTypeOf, targetOf } from "./outgoing.ts";
import { probed } from "./probe.ts";
import { type Delivery, live } from "./receiving.ts";
import { delivered } from "./webhook.ts";

export default definePlugin({
  id: "telegram",
  api: "^1.0.0",
  section: "channels.telegram",
  config: TelegramConfig,

  setup(gateway) {
    const { clock, log } = gateway;
    const accounts = telegramAccounts(gateway.config);
    const deliveries = new Map<string, Delivery>();
    const memories = new Map<string, Memory>();
    const memoryOf = (accountId: string) => {
      const memory = memories.get(accountId) ?? createMemory();
      memories.set(accountId, memory);
      return memory;
    };
    const apiRootOf = (accountId: string) => accounts.find(({ id }) => id === accountId)?.settings.apiRoot ?? API_ROOT;

    gateway.route({
      method: "POST",
      path: "/plugins/telegram/webhook/:account",
      auth: "plugin",
      summary: "Updates from Telegram, for accounts with a webhookUrl",
      handler: (request) => delivered(request, accounts, deliveries),
    });

    const channel = defineChannel<Settings>({
      label: "Telegram",
      aliases: ["tg"],
      capabilities: {
        chats: ["direct", "group"],
        maxTextChars: 4_096,
        markup: "html",
        threads: true,
        replies: true,
        media: ["image", "audio", "video", "file"],
        maxMediaBytes: 50_000_000,
        maxCaptionChars: 1_024,
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
      run: (run) => live(run, { clock, log, memory: memoryOf(run.accountId), deliveries }),
      send: (message) => send(message, memoryOf(message.accountId)),
      edit,
      react,
      typing,
      media,
      login: loginSteps(apiRootOf),
      async probe({ settings, signal }) {
        const [bot, webhook] = await Promise.all([getMe(settings, signal), getWebhook(settings, signal)]);
        return probed(bot, webhook);
      },
    });
    gateway.extend(Channel, "telegram", channel);
  },
});
