/**
 * Matrix: talk to agents in direct chats and rooms without encryption.
 *
 * `api.ts` is the only file that uses the network, `run.ts` receives, `outgoing.ts` sends; this file connects them to the
 * gateway.
 */
import { join } from "node:path";
import { definePlugin } from "@svc/sdk";
import { Channel, defineChannel } from "@svc/sdk/channels";
import { accountsOf, MatrixConfig, type Settings, trimmed } from "./config.ts";
import { createMemory, directoryOf, type Memory } from "./directory.ts";
import { createLogin, logOut, probe } from "./login.ts";
import { createOutgoing } from "./outgoing.ts";
import { runAccount } from "./run.ts";
import { addressOf } from "./translate.ts";

/** Choice: an event has at most 65,536 bytes, and an edit contains text and HTML up to three times. */
const MAX_TEXT_CHARS = 4_000;
const MAX_MEDIA_BYTES = 50_000_000;

export default definePlugin({
  id: "matrix",
  api: "^1.0.0",
  section: "channels.matrix",
  config: MatrixConfig,

  setup(gateway) {
    const { clock, log, signal } = gateway;
    const accounts = accountsOf(gateway.config);
    const memories = new Map<string, Memory>();
    const memoryOf = (accountId: string) => {
      const memory = memories.get(accountId) ?? createMemory();
      memories.set(accountId, memory);
      return memory;
    };
    /** The id of a room, so that messages to the alias belong to the session of the room; the alias if it is unknown now. */
    const resolved = async (alias: string) => {
      const account = accounts.find(({ configured }) => configured);
      if (!account) return alias;
      const directory = directoryOf(memoryOf(account.id), account.settings, { clock, signal });
      return directory.resolve(alias).catch(() => alias);
    };

    const channel = defineChannel<Settings>({
      label: "Matrix",
      aliases: ["element"],
      capabilities: {
        chats: ["direct", "group"],
        maxTextChars: MAX_TEXT_CHARS,
        markup: "html",
        threads: true,
        replies: true,
        media: ["image", "audio", "video", "file"],
        maxMediaBytes: MAX_MEDIA_BYTES,
        voice: true,
        reactions: true,
        edits: true,
        editEveryMs: 1_500,
        typing: true,
        polls: { maxOptions: 20, multiple: true, anonymous: true },
      },
      accounts,
      target: (text) => {
        const address = addressOf(text);
        return address?.startsWith("#") === true ? resolved(address) : address;
      },
      chatType: (to) => (to.startsWith("user:") ? "direct" : "group"),
      run: (run) =>
        runAccount(run, {
          clock,
          log,
          memory: memoryOf(run.accountId),
          file: join(gateway.stateDir, `${run.accountId}.json`),
        }),
      ...createOutgoing({ clock, memoryOf }),
      login: createLogin(
        { clock },
        (accountId) =>
          accounts.find(({ id }) => id === accountId)?.settings.homeserverUrl ??
          trimmed(gateway.config.homeserverUrl ?? ""),
      ),
      logout: (login) => logOut(login, { clock }),
      probe: (login) => probe(login, { clock }),
    });
    gateway.extend(Channel, "matrix", channel);
  },
});
