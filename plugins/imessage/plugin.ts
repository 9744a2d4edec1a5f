/**
 * iMessage: talk to agents in Messages, through a Mac with BlueBubbles or imsg.
 *
 * `bluebubbles.ts` and `imsg.ts` are two ways to the same `Server`; `run.ts` receives; this file connects them to the gateway.
 */
import { bounded } from "@svc/kit/channels";
import { isSameSecret } from "@svc/kit/secret";
import { definePlugin, unavailable } from "@svc/sdk";
import { Channel, type ChannelCall, defineChannel } from "@svc/sdk/channels";
import { blueBubbles } from "./bluebubbles.ts";
import { accountsOf, IMessageConfig, type Settings, WEBHOOK_PATH, webhookSecret } from "./config.ts";
import { connectImsg } from "./imsg.ts";
import { createLogin } from "./login.ts";
import type { Server } from "./server.ts";
import { type Live, runAccount } from "./run.ts";
import { addressOf, groupOf } from "./translate.ts";

/** Choice: Messages has no limit, but people do not read more in one bubble. */
const MAX_TEXT_CHARS = 4_000;
const MAX_MEDIA_BYTES = 100_000_000;
const MAX_CHATS = 1_000;

export default definePlugin({
  id: "imessage",
  api: "^1.0.0",
  section: "channels.imessage",
  config: IMessageConfig,

  setup(gateway) {
    const { clock, log } = gateway;
    const accounts = accountsOf(gateway.config);
    const ready = accounts.filter(({ configured }) => configured);
    const hasPrivateApi = ready.length > 0 && ready.every(({ settings }) => settings.privateApi);
    const live = new Map<string, Live>();
    const chats = bounded<string>(MAX_CHATS);
    const open = async (settings: Settings) =>
      settings.command.length > 0 ? connectImsg(settings, { clock, log }) : blueBubbles(settings, { clock, chats });
    /** imsg runs with its account; requests to BlueBubbles need no run. */
    const serverOf = ({ accountId, settings }: ChannelCall<Settings>): Server => {
      if (settings.command.length === 0) return blueBubbles(settings, { clock, chats });
      return live.get(accountId)?.server ?? unavailable("imsg is not running", { retryAfterMs: 1_000 });
    };
    const identify = async (settings: Settings, signal: AbortSignal) => {
      const server = await open(settings);
      return server.identify(signal).finally(() => server.close());
    };

    const channel = defineChannel<Settings>({
      label: "iMessage",
      aliases: ["imsg"],
      capabilities: {
        chats: ["direct", "group"],
        maxTextChars: MAX_TEXT_CHARS,
        replies: hasPrivateApi,
        media: ["image", "audio", "video", "file"],
        maxMediaBytes: MAX_MEDIA_BYTES,
        maxCaptionChars: 0,
        voice: hasPrivateApi,
        reactions: hasPrivateApi,
        edits: hasPrivateApi,
        editEveryMs: 10_000,
        typing: hasPrivateApi,
      },
      accounts,
      target: addressOf,
      chatType: (to) => (groupOf(to) === undefined ? "direct" : "group"),
      run: (run) => runAccount(run, { clock, log, live, open }),
      send: async (message) => serverOf(message).send(message),
      edit: async (change) => serverOf(change).edit(change),
      react: async (reaction) => serverOf(reaction).react(reaction),
      typing: async (place) => serverOf(place).typing(place),
      media: async (request) => serverOf(request).file(request),
      login: createLogin(identify),
      probe: async ({ settings, signal }) => ({ ok: true, ...(await identify(settings, signal)) }),
    });
    gateway.extend(Channel, "imessage", channel);

    gateway.route({
      method: "POST",
      path: `${WEBHOOK_PATH}:account/:secret`,
      auth: "plugin",
      summary: "Receive a report of the BlueBubbles server that there is a new message",
      // What the report says is not used: the account asks the server.
      handler({ params }) {
        const account = accounts.find(({ id }) => id === params["account"]);
        const { id = "", settings } = account ?? {};
        const isOwn = isSameSecret(params["secret"] ?? "", webhookSecret(settings?.password ?? "", id));
        if (!settings?.password || !isOwn) return { status: 401 };
        live.get(id)?.wake();
        return { status: 200 };
      },
    });
  },
});
