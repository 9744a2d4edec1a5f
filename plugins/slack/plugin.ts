/**
 * Slack: talk to agents in direct messages and channels.
 *
 * `api.ts` and `socket.ts` are the only files that use the network, `translate.ts` and `text.ts` are pure, and this file
 * connects them to the gateway.
 */
import { definePlugin } from "@svc/sdk";
import { Channel, defineChannel } from "@svc/sdk/channels";
import { createSender, fileAddress } from "./api.ts";
import { type Settings, slackAccounts, SlackConfig } from "./config.ts";
import { createHook, type LiveAccounts, runAccount } from "./connection.ts";
import { createLogin, probeAccount } from "./login.ts";
import { addressOf, chatTypeOf } from "./translate.ts";

export default definePlugin({
  id: "slack",
  api: "^1.0.0",
  section: "channels.slack",
  config: SlackConfig,

  setup(gateway) {
    const { clock, log } = gateway;
    const context = { clock, log };
    const accounts = slackAccounts(gateway.config);
    const running: LiveAccounts = new Map();
    const { send, edit, react } = createSender();

    const channel = defineChannel<Settings>({
      label: "Slack",
      capabilities: {
        chats: ["direct", "group"],
        markup: "mrkdwn",
        maxTextChars: 3_000, // Slack takes 4,000 in an edit, and counts markup
        threads: true,
        replies: false,
        media: ["image", "audio", "video", "file"],
        maxMediaBytes: 100_000_000,
        maxCaptionChars: 0,
        reactions: true,
        edits: true,
        editEveryMs: 1_500,
        typing: false,
        buttons: true,
        commandMenu: false,
      },
      accounts,
      target: addressOf,
      chatType: chatTypeOf,
      run: (run) => runAccount(run, running, context),
      send,
      edit,
      react,
      media: fileAddress,
      login: createLogin(accounts, gateway.config.apiUrl),
      probe: probeAccount,
    });
    gateway.extend(Channel, "slack", channel);

    gateway.route({
      method: "POST",
      path: "/plugins/slack/:account",
      auth: "plugin",
      summary: "Receives events, button presses and commands of a Slack account with mode http",
      handler: createHook(accounts, running, context),
    });
  },
});
