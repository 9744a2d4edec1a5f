/**
 * Website: visitors of a page talk to agents, each in a session of their own.
 *
 * `sockets.ts` receives, `outgoing.ts` sends, `store.ts` keeps the conversations, `widget/` is the script of the page; this
 * file connects them to the gateway.
 */
import { definePlugin, invalidRequest, notFound } from "@svc/sdk";
import { Channel, defineChannel } from "@svc/sdk/channels";
import { Retention, Storage } from "@svc/sdk/storage";
import { accountsOf, type Settings, WebsiteConfig } from "./config.ts";
import { login } from "./login.ts";
import { createOutgoing, MAX_MEDIA_BYTES } from "./outgoing.ts";
import { MAX_FRAME_BYTES, MAX_TEXT_CHARS } from "./protocol.ts";
import { serveScript } from "./script.ts";
import { createSockets } from "./sockets.ts";
import { createStore, RETENTION } from "./store.ts";
import { addressOf } from "./translate.ts";

export default definePlugin({
  id: "webchat",
  api: "^1.0.0",
  section: "channels.website",
  config: WebsiteConfig,
  requires: { storage: Storage },

  setup(gateway) {
    const { clock, log } = gateway;
    const accounts = accountsOf(gateway.config);
    const known = accounts.flatMap(({ settings }) => Object.keys(settings.knownVisitors));
    const store = createStore(gateway.services.storage);
    const sockets = createSockets({ accounts, store, clock, log });

    const channel = defineChannel<Settings>({
      label: "Website",
      capabilities: {
        chats: ["direct"],
        maxTextChars: MAX_TEXT_CHARS,
        markup: "markdown",
        media: ["image", "audio", "video", "file"],
        maxMediaBytes: MAX_MEDIA_BYTES,
        edits: true,
        editEveryMs: 300,
        typing: true,
        buttons: true,
        ownSessions: true,
      },
      accounts,
      target: (text) => addressOf(text, known),
      run: (run) => sockets.serve(run),
      ...createOutgoing({ store, sockets, clock }),
      login,
      probe: async ({ accountId }) => ({ ok: true, connectedVisitors: sockets.count(accountId) }),
    });
    gateway.extend(Channel, "website", channel);
    gateway.extend(Retention, "webchat", RETENTION);

    gateway.route({
      method: "GET",
      path: "/plugins/webchat/widget.js",
      auth: "plugin",
      summary: "The script that shows the chat on a page",
      handler: (request) =>
        accounts.some(({ configured }) => configured) ? serveScript(request) : notFound("no website is configured"),
    });
    gateway.route({
      method: "GET",
      path: "/plugins/webchat/:account/socket",
      auth: "plugin",
      summary: "The conversation of a visitor, as a WebSocket",
      maxBodyBytes: MAX_FRAME_BYTES,
      upgrade: (request, socket) => sockets.upgrade(request, socket),
      handler: () => invalidRequest("this address is a WebSocket; next: open it with the widget"),
    });
  },
});
