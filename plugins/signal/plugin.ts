/**
 * Signal: talk to agents in direct chats and groups, through signal-cli.
 *
 * `run.ts` receives, `outgoing.ts` sends, `daemon.ts` starts signal-cli if no address is set; this file connects them to the
 * gateway.
 */
import { definePlugin } from "@svc/sdk";
import { Channel, defineChannel } from "@svc/sdk/channels";
import { accountsOf, type Settings, settingsOf, SignalConfig } from "./config.ts";
import { createDaemons } from "./daemon.ts";
import { createLogin, logout, probe } from "./login.ts";
import { addressOf, chatTypeOf, createOutgoing } from "./outgoing.ts";
import { createMemory, runAccount } from "./run.ts";

export default definePlugin({
  id: "signal",
  api: "^1.0.0",
  section: "channels.signal",
  config: SignalConfig,

  setup(gateway) {
    const { clock, log } = gateway;
    const accounts = accountsOf(gateway.config);
    const own = settingsOf(gateway.config);
    const memory = createMemory();
    const daemons = createDaemons({ clock, log, stateDir: () => gateway.stateDir });

    const channel = defineChannel<Settings>({
      label: "Signal",
      capabilities: {
        chats: ["direct", "group"],
        maxTextChars: 2_000, // the apps hide the rest of a longer text behind a link
        markup: "html",
        replies: true,
        media: ["image", "audio", "video", "file"],
        maxMediaBytes: 50_000_000,
        voice: true,
        reactions: true,
        edits: true,
        editEveryMs: 8_000, // the apps accept ten edits
        typing: true,
      },
      accounts,
      target: addressOf,
      chatType: chatTypeOf,
      run: (run) => runAccount(run, { clock, log, daemons, memory }),
      ...createOutgoing({ clock, daemons, memory }),
      login: createLogin(
        { clock, daemons },
        (accountId) => accounts.find(({ id }) => id === accountId)?.settings ?? own,
      ),
      logout: (login) => logout(login, daemons),
      probe: (login) => probe(login, { clock, daemons }),
    });
    gateway.extend(Channel, "signal", channel);
    gateway.onStop(() => daemons.close());
  },
});
