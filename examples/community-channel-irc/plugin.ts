/**
 * IRC: talk to agents in direct messages and channels.
 *
 * `connection.ts` is the only file that uses the network, `translate.ts` is pure, and this file connects them to the
 * gateway.
 */
import { definePlugin, unavailable } from "@svc/sdk";
import { Channel, defineChannel } from "@svc/sdk/channels";
import { accountOf, IrcConfig, type Settings } from "./config.ts";
import { connect, type IrcConnection } from "./connection.ts";
import { loginSteps } from "./login.ts";
import { channelName, isChannel, nickName } from "./names.ts";

/** Maximum characters of one message. `connection.ts` splits lines further, by bytes. */
const MAX_TEXT_CHARS = 350;

export default definePlugin({
  id: "irc",
  api: "^1.0.0",
  section: "channels.irc",
  config: IrcConfig,

  setup(gateway) {
    const { clock, log } = gateway;
    let connection: IrcConnection | undefined;

    const channel = defineChannel<Settings>({
      label: "IRC",
      aliases: ["internet-relay-chat"],
      capabilities: { chats: ["direct", "group"], maxTextChars: MAX_TEXT_CHARS },
      accounts: [accountOf(gateway.config)],
      target: (text) => channelName(text.trim()) ?? nickName(text.trim()),
      chatType: (to) => (isChannel(to) ? "group" : "direct"),
      login: loginSteps(gateway.config, { clock, log }),

      async run(run) {
        const current = await connect(run, { clock, log });
        connection = current;
        try {
          await current.live();
        } finally {
          if (connection === current) connection = undefined;
        }
      },

      async send({ to, text, signal }) {
        if (!connection) return unavailable("not connected to the IRC server");
        await connection.say(to, text, signal);
        return {};
      },
    });
    gateway.extend(Channel, "irc", channel);
  },
});
