/**
 * sample-name: a chat network that exchanges lines of JSON over TCP. `connection.ts` is the network; this file connects
 * it to the gateway.
 */
import { definePlugin, GatewayError, Strict, Type } from "@svc/sdk";
import { Channel, defineChannel } from "@svc/sdk/channels";
import { connectLines, type Connection } from "./connection.ts";

interface Settings {
  readonly host: string;
  readonly port: number;
}

/** A room or a person: one word, rooms with a leading `#`. */
const ADDRESS = /^#?[a-z0-9_-]{1,64}$/;

/**
 * `svc: hello` mentions the agent svc. A name at the start is removed, so that commands such as /new are recognized.
 */
function addressed(text: string, name: string): { readonly text: string; readonly mentioned: boolean } {
  const words = text.toLowerCase();
  const isFirst = words.startsWith(`${name.toLowerCase()}:`);
  return {
    text: isFirst ? text.slice(name.length + 1).trim() : text,
    mentioned: isFirst || words.split(/[^a-z0-9_-]+/).includes(name.toLowerCase()),
  };
}

export default definePlugin({
  id: "sample-name",
  api: "^1.0.0",
  section: "channels.sample-name",
  config: Strict({
    name: Type.String({ default: "svc", minLength: 1, description: "Name of the agent on the network" }),
    host: Type.String({ default: "127.0.0.1", minLength: 1, description: "Host of the network" }),
    port: Type.Integer({ default: 6_700, minimum: 1, maximum: 65_535, description: "Port of the network" }),
    allowFrom: Type.Array(Type.String({ minLength: 1 }), {
      default: [],
      description: "People who may send direct messages; *: everyone",
    }),
    groups: Type.Array(Type.String({ minLength: 1 }), {
      default: [],
      description: "Rooms in which the agent listens, e.g. #garden; *: every room",
    }),
    requireMention: Type.Boolean({
      default: true,
      description: "In rooms, only messages that mention the agent reach it",
    }),
  }),

  // `setup` only declares: `run` opens a connection, and closes it before the promise of `run` ends.
  setup(gateway) {
    const { name, host, port, allowFrom, groups, requireMention } = gateway.config;
    const connections = new Map<string, Connection>();

    const channel = defineChannel<Settings>({
      label: "sample-name",
      capabilities: { chats: ["direct", "group"], maxTextChars: 2_000 },
      accounts: [{ id: "default", allowFrom, groups, requireMention, settings: { host, port } }],

      target(text) {
        const address = text.trim().toLowerCase();
        return ADDRESS.test(address) ? address : undefined;
      },

      async run({ accountId, settings, receive, report, signal }) {
        if (signal.aborted) return;
        report({ state: "connecting" });
        const connection = await connectLines(settings, signal);
        connections.set(accountId, connection);
        report({ state: "connected" });
        try {
          for await (const { id, from, to, text } of connection.messages) {
            const isRoom = to.startsWith("#");
            const chat = { type: isRoom ? "group" : "direct", id: isRoom ? to : from } as const;
            const spoken = isRoom ? addressed(text, name) : { text };
            await receive({ id, chat, sender: { id: from }, ...spoken });
          }
        } finally {
          connections.delete(accountId);
          connection.close();
        }
      },

      async send({ accountId, to, text, signal }) {
        signal.throwIfAborted();
        const connection = connections.get(accountId);
        if (!connection) throw new GatewayError("UNAVAILABLE", "sample-name is not connected", { retryAfterMs: 1_000 });
        await connection.send({ to, text });
        return {};
      },
    });
    gateway.extend(Channel, "sample-name", channel);
  },
});
