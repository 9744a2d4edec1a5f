/**
 * A channel over a TCP line protocol: the server sends `<person> <text>`, one message a line, and reads replies in the same form.
 * `run` holds one connection; who may talk, sessions, commands, splitting and retries belong to the plugin `channels`.
 */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { definePlugin, Strict, Type, unavailable } from "@svc/sdk";
import { Channel, defineChannel } from "@svc/sdk/channels";

interface Settings {
  readonly host: string;
  readonly port: number;
}

/** A person: one word without spaces. */
const PERSON = /^\S{1,64}$/;

export default definePlugin({
  id: "lines",
  api: "^1.0.0",
  section: "channels.lines",
  config: Strict({
    host: Type.String({ default: "127.0.0.1", minLength: 1, description: "Host of the line server" }),
    port: Type.Integer({ default: 6_700, minimum: 1, maximum: 65_535, description: "Port of the line server" }),
    allowFrom: Type.Array(Type.String({ minLength: 1 }), {
      default: [],
      description: "People whose messages are accepted; *: everybody",
    }),
  }),

  setup(gateway) {
    const { host, port, allowFrom } = gateway.config;
    let current: Socket | undefined;

    const channel = defineChannel<Settings>({
      label: "Lines",
      capabilities: { chats: ["direct"], maxTextChars: 1_000 },
      accounts: [{ id: "default", dmPolicy: "allowlist", allowFrom, settings: { host, port } }],
      target: (text) => (PERSON.test(text.trim()) ? text.trim() : undefined),

      /** Returns when the connection ends, throws when it fails. The gateway then calls it again, each time later. */
      async run({ settings, receive, report, signal }) {
        const socket = connect({ ...settings, signal });
        try {
          await once(socket, "connect");
          current = socket;
          report({ state: "connected" });
          for await (const line of createInterface({ input: socket })) {
            const [from = "", ...words] = line.trim().split(" ");
            if (!PERSON.test(from)) continue;
            await receive({ text: words.join(" "), chat: { type: "direct", id: from }, sender: { id: from } });
          }
        } finally {
          current = undefined;
          socket.destroy();
        }
      },

      async send({ to, text }) {
        const socket = current ?? unavailable("the line server is not connected", { retryAfterMs: 1_000 });
        const lines = text.split("\n").map((line) => `${to} ${line}\n`);
        await new Promise<void>((resolve, reject) => {
          socket.write(lines.join(""), (error) => (error ? reject(error) : resolve()));
        });
        return {};
      },
    });
    gateway.extend(Channel, "lines", channel);
  },
});
