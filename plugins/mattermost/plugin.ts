/**
 * Mattermost: talk to agents in direct messages and channels.
 *
 * `run.ts` receives, `outgoing.ts` sends, `routes.ts` answers the server's own requests; this file connects them to the
 * gateway.
 */
import { trimmedAddress } from "@svc/kit/channels";
import { definePlugin } from "@svc/sdk";
import { Channel, defineChannel } from "@svc/sdk/channels";
import { routeOf } from "./buttons.ts";
import { accountsOf, MattermostConfig, type Settings } from "./config.ts";
import { createLogin, probe } from "./login.ts";
import { createOutgoing } from "./outgoing.ts";
import { createRoutes } from "./routes.ts";
import { type LiveAccount, runAccount } from "./run.ts";
import { addressOf } from "./translate.ts";

/** Maximum characters of one message. Servers accept 16,383, older ones 4,000. */
const MAX_TEXT_CHARS = 4_000;
const MAX_MEDIA_BYTES = 50_000_000;

export default definePlugin({
  id: "mattermost",
  api: "^1.0.0",
  section: "channels.mattermost",
  config: MattermostConfig,

  setup(gateway) {
    const { clock, log } = gateway;
    const { baseUrl = "" } = gateway.config;
    const accounts = accountsOf(gateway.config);
    const ready = accounts.filter(({ configured }) => configured);
    const live = new Map<string, LiveAccount>();
    const outgoing = createOutgoing({ clock });

    const channel = defineChannel<Settings>({
      label: "Mattermost",
      capabilities: {
        chats: ["direct", "group"],
        maxTextChars: MAX_TEXT_CHARS,
        markup: "markdown",
        threads: true,
        media: ["image", "audio", "video", "file"],
        maxMediaBytes: MAX_MEDIA_BYTES,
        reactions: true,
        edits: true,
        editEveryMs: 1_000,
        typing: true,
        buttons: ready.length > 0 && ready.every(({ settings }) => settings.callbackUrl !== undefined),
      },
      accounts,
      target: addressOf,
      chatType: (to) => (/^(?:user:|@)/.test(to) ? "direct" : "group"),
      run: (run) => runAccount(run, { clock, log, live }),
      ...outgoing,
      login: createLogin(
        { clock },
        (accountId) => accounts.find(({ id }) => id === accountId)?.settings.baseUrl ?? trimmedAddress(baseUrl),
      ),
      probe: (login) => probe(login, { clock }),
    });
    gateway.extend(Channel, "mattermost", channel);

    const routes = createRoutes({ accounts, live, clock });
    gateway.route({
      method: "POST",
      path: routeOf(":account", "action"),
      auth: "plugin",
      summary: "Receive a pressed button from the Mattermost server",
      handler: routes.action,
    });
    gateway.route({
      method: "POST",
      path: routeOf(":account", "command"),
      auth: "plugin",
      summary: "Receive a slash command from the Mattermost server",
      handler: routes.command,
    });
  },
});
