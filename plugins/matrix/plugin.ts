/**
 * Matrix: talk to agents in direct chats and rooms without encryption.
 *
 * `api.ts` is the only file that uses the network, `run.ts` receives, `outgoing.ts` sends; this file connects them to the
 * gateway.
 */
import { trimmedAddress } from "@svc/kit/channels";
import { definePlugin } from "@svc/sdk";
import { Channel, defineChannel } from "@svc/sdk/channels";
import { accountsOf, MatrixConfig, type Settings } from "./config.ts";
import { createMemory, type Memory } from "./directory.ts";
import { createLogin, logOut, probe } from "./login.ts";
import { createOutgoing } from "./outgoing.ts";
import { runAccount } from "./run.ts";
import { addressOf } from "./translate.ts";

export default definePlugin({
  id: "matrix",
  api: "^1.0.0",
  section: "channels.matrix",
  config: MatrixConfig,

  setup(gateway) {
    const { clock, log } = gateway;
    const accounts = accountsOf(gateway.config);
    const known = trimmedAddress(gateway.config.homeserverUrl ?? "");
    const memories = new Map<string, Memory>();
    const memoryOf = (accountId: string) => {
      const memory = memories.get(accountId) ?? createMemory();
      memories.set(accountId, memory);
      return memory;
    };

    const channel = defineChannel<Settings>({
      label: "Matrix",
      capabilities: {
        chats: ["direct", "group"],
        maxTextChars: 4_000, // an event has at most 65,536 bytes, and an edit contains the text up to three times
        markup: "html",
        threads: true,
        replies: true,
        media: ["image", "audio", "video", "file"],
        maxMediaBytes: 50_000_000,
        voice: true,
        reactions: true,
        edits: true,
        typing: true,
        polls: { maxOptions: 20, multiple: true, anonymous: true },
      },
      accounts,
      target: addressOf,
      chatType: (to) => (to.startsWith("user:") ? "direct" : "group"),
      run: (run) => runAccount(run, { clock, log, memory: memoryOf(run.accountId) }),
      ...createOutgoing(clock, memoryOf),
      login: createLogin(clock, (id) => accounts.find((one) => one.id === id)?.settings.homeserverUrl ?? known),
      logout: (login) => logOut(login, clock),
      probe: (login) => probe(login, clock),
    });
    gateway.extend(Channel, "matrix", channel);
  },
});
