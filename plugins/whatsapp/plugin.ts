/**
 * WhatsApp: talk to agents through a business number of the Cloud API.
 *
 * `webhook.ts` receives, `outgoing.ts` sends, `run.ts` watches the Graph API; this file connects them to the gateway.
 */
import { definePlugin } from "@svc/sdk";
import { Channel, defineChannel } from "@svc/sdk/channels";
import { accountsOf, graphUrlOf, type Settings, WhatsAppConfig, webhookOf } from "./config.ts";
import { createLogin, probe } from "./login.ts";
import { createOutgoing } from "./outgoing.ts";
import { type LiveAccount, runAccount } from "./run.ts";
import { addressOf } from "./translate.ts";
import { createWebhook } from "./webhook.ts";

export default definePlugin({
  id: "whatsapp",
  api: "^1.0.0",
  section: "channels.whatsapp",
  config: WhatsAppConfig,

  setup(gateway) {
    const { clock, config, log } = gateway;
    const accounts = accountsOf(config);
    const own = { graphUrl: graphUrlOf(config) };
    const live = new Map<string, LiveAccount>();
    const { note, markRead, ...outgoing } = createOutgoing(clock);
    const webhook = createWebhook({ accounts, live, log, note, markRead });

    const channel = defineChannel<Settings>({
      label: "WhatsApp",
      connects: "a business number of the Cloud API",
      capabilities: {
        chats: ["direct"],
        maxTextChars: 4_000, // the network accepts 4,096, and 1,024 in a caption; markup can lengthen a text
        markup: "mrkdwn",
        replies: true,
        media: ["image", "audio", "video", "file"],
        maxMediaBytes: 100_000_000,
        maxCaptionChars: 1_000,
        voice: true,
        reactions: true,
        typing: true,
        buttons: true,
      },
      accounts,
      target: addressOf,
      run: (run) => runAccount(run, clock, live),
      ...outgoing,
      login: createLogin(clock, (accountId) => (accounts.find(({ id }) => id === accountId)?.settings ?? own).graphUrl),
      probe: (login) => probe(login, clock),
    });
    gateway.extend(Channel, "whatsapp", channel);

    const route = { path: webhookOf(":account"), auth: "plugin" } as const;
    gateway.route({ ...route, method: "GET", summary: "Verify the address for WhatsApp", handler: webhook.verify });
    gateway.route({
      ...route,
      method: "POST",
      summary: "Receive messages from WhatsApp",
      maxBodyBytes: 4_000_000, // the network sends up to 3 MB
      handler: webhook.deliver,
    });
  },
});
