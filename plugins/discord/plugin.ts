/**
 * Discord: talk to agents in direct messages, and in the channels and threads of servers.
 *
 * `api.ts` and `connection.ts` use the network, `translate.ts` and `outgoing.ts` are pure, and this file connects them to
 * the gateway.
 */
import { definePlugin } from "@svc/sdk";
import { Channel, type ChannelCall, defineChannel } from "@svc/sdk/channels";
import * as requests from "./api.ts";
import { accountsOf, DiscordConfig, type Settings, settingsOf } from "./config.ts";
import { live } from "./connection.ts";
import { loginSteps } from "./login.ts";
import { emptyMemory, type Memory } from "./memory.ts";
import { addressOf, userIn } from "./outgoing.ts";

export default definePlugin({
  id: "discord",
  api: "^1.0.0",
  section: "channels.discord",
  config: DiscordConfig,

  setup(gateway) {
    const { clock, log } = gateway;
    const accounts = accountsOf(gateway.config);
    const apiOf = requests.createApis();
    const memories = new Map<string, Memory>();
    const memoryOf = ({ accountId }: Pick<ChannelCall, "accountId">) => {
      const memory = memories.get(accountId) ?? emptyMemory();
      memories.set(accountId, memory);
      return memory;
    };

    const channel = defineChannel<Settings>({
      label: "Discord",
      capabilities: {
        chats: ["direct", "group"],
        maxTextChars: 2_000,
        markup: "markdown",
        threads: true,
        replies: true,
        media: ["image", "audio", "video", "file"],
        maxMediaBytes: 10_000_000,
        reactions: true,
        edits: true,
        editEveryMs: 1_200,
        typing: true,
        buttons: true,
        polls: { maxOptions: 10, multiple: true, maxSeconds: 2_764_800 },
        commandMenu: true,
      },
      accounts,
      target: addressOf,
      chatType: (to) => (userIn(to) === undefined ? "group" : "direct"),

      run: async (run) => live(run, { api: await apiOf(run), memory: memoryOf(run), clock, log }),
      send: async (message) => requests.send(message, await apiOf(message), memoryOf(message)),
      edit: async (edit) => requests.edit(edit, await apiOf(edit), memoryOf(edit)),
      react: async (reaction) => requests.react(reaction, await apiOf(reaction), memoryOf(reaction)),
      typing: async (place) => requests.typing(place, await apiOf(place), memoryOf(place)),
      media: async (request) => requests.media(request, await apiOf(request)),
      probe: async (login) => requests.probe(login.settings, await apiOf(login), login.signal),
      login: loginSteps(
        (accountId) => accounts.find(({ id }) => id === accountId)?.settings ?? settingsOf(gateway.config),
      ),
    });
    gateway.extend(Channel, "discord", channel);
  },
});
