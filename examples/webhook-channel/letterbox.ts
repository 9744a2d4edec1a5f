/**
 * A small channel: a chat server posts messages to a route of the gateway, and the gateway posts replies to the server.
 * `run` keeps the account up; the plugin `channels` does everything else (admission, sessions, retries).
 */
import { createHash, timingSafeEqual } from "node:crypto";
import { definePlugin, invalidRequest, Strict, Type, unavailable } from "@svc/sdk";
import { Channel, type ChannelRun, defineChannel } from "@svc/sdk/channels";

interface Settings {
  readonly replyUrl: string;
  readonly secret: string;
}

/** A message posted by the chat server. A repeated message has the same `id`. */
const Message = Type.Object({
  id: Type.String({ minLength: 1 }),
  from: Type.String({ minLength: 1, description: "id of the person, which no other user can take over" }),
  text: Type.String(),
});

export default definePlugin({
  id: "letterbox",
  api: "^1.0.0",
  section: "channels.letterbox",
  config: Strict({
    replyUrl: Type.String({ pattern: "^https?://", description: "URL to which replies are posted as {to, text}" }),
    secret: Type.String({ minLength: 16, sensitive: true, description: "Bearer token sent by both sides" }),
    allowFrom: Type.Array(Type.String({ minLength: 1 }), {
      default: [],
      description: "Ids of people who may send messages; *: everyone",
    }),
  }),

  setup(gateway) {
    const { replyUrl, secret, allowFrom } = gateway.config;
    let current: ChannelRun<Settings> | undefined;

    const channel = defineChannel<Settings>({
      label: "Letterbox",
      capabilities: { chats: ["direct"], maxTextChars: 4_000 },
      accounts: [{ id: "default", dmPolicy: "allowlist", allowFrom, settings: { replyUrl, secret } }],
      target: (text) => (/^\S+$/.test(text.trim()) ? text.trim() : undefined),

      /**
       * The server connects to the gateway, so there is no connection to open: the account is up until it is stopped.
       */
      async run(run) {
        if (run.signal.aborted) return;
        current = run;
        run.report({ state: "connected" });
        await new Promise((resolve) => run.signal.addEventListener("abort", resolve, { once: true }));
        current = undefined;
      },

      async send({ to, text, settings, signal }) {
        const reply = await fetch(settings.replyUrl, {
          method: "POST",
          headers: { authorization: `Bearer ${settings.secret}`, "content-type": "application/json" },
          body: JSON.stringify({ to, text }),
          redirect: "error", // never send the secret to another address
          signal,
        });
        if (reply.status >= 500 || reply.status === 429) unavailable(`the chat server responded ${reply.status}`);
        if (!reply.ok) invalidRequest(`the chat server rejected the text with ${reply.status}`);
        return {};
      },
    });
    gateway.extend(Channel, "letterbox", channel);

    gateway.route({
      method: "POST",
      path: "/plugins/letterbox/messages",
      auth: "plugin",
      summary: "Receive a message from the chat server",
      body: Message,
      async handler({ headers, body }) {
        if (!isSame(String(headers["authorization"] ?? ""), `Bearer ${secret}`)) return { status: 401 };
        if (!current) return unavailable("the channel letterbox is not running", { retryAfterMs: 1_000 });
        const { id, from, text } = body;
        // The message is on disk when this resolves, so the server may discard it. If this throws, the server posts it
        // again.
        const receipt = await current.receive({ id, text, chat: { type: "direct", id: from }, sender: { id: from } });
        return { status: receipt.accepted ? 202 : 200, body: receipt };
      },
    });
  },
});

/** Takes the same time for every guess. */
function isSame(given: string, wanted: string): boolean {
  const [left, right] = [given, wanted].map((text) => createHash("sha256").update(text).digest());
  return left !== undefined && right !== undefined && timingSafeEqual(left, right);
}
