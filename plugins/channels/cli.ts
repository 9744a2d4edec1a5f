/** `svc channels ...`: how the channels are, and saying something in one. */
import { randomUUID } from "node:crypto";
import { channels, outbound } from "@svc/sdk/channels";
import { askingWith, type CommandContext, defineCommands, show, showFindings, visible } from "@svc/sdk/cli";
import { findingsOf, statusLines } from "./cli-text.ts";

const ask = askingWith({ plugin: "channels", step: "svc channels status" });

export default defineCommands([
  {
    name: "channels status",
    summary: "Channels, their accounts and how they are",
    options: [{ flags: "--probe", description: "ask each network, where its channel can" }],
    examples: ["svc channels status", "svc channels status --probe --json"],
    run: (context) =>
      ask(
        context,
        ["operator.read"],
        async (client) => {
          const probe = context.options["probe"] === true;
          show(context, await client.call(channels.status, probe ? { probe } : {}), statusLines);
        },
        "svc plugins list",
      ),
  },
  {
    name: "channels doctor",
    summary: "Do the channels work, and is nobody let in by mistake?",
    options: [{ flags: "--running", description: "a gateway uses the state directory: ask it" }],
    examples: ["svc channels doctor --running", "svc channels doctor --running --json"],
    async run(context) {
      if (context.options["running"] !== true) {
        show(context, { findings: [] }, () => ["Channels are checked in a running gateway."]);
        return 0;
      }
      return ask(context, ["operator.read"], async (client) => {
        showFindings(context, findingsOf(await client.call(channels.status, {})));
      });
    },
  },
  {
    name: "channels send",
    summary: "Send a text to a chat",
    args: "<to> <text...>",
    options: [
      { flags: "--channel <id>", description: "default: the only one that is configured" },
      { flags: "--account <id>", description: "default: the channel's default account" },
      { flags: "--session <key>", description: "session that notes the text; default: that of the recipient" },
      { flags: "--key <key>", description: "idempotency key: sent again with the same key, it goes out once" },
    ],
    examples: [
      'svc channels send --channel irc "#team" The build is green',
      "svc channels send ann hello --key build-42",
    ],
    run: (context) =>
      ask(context, ["operator.write"], async (client) => {
        const [to = "", ...words] = context.args;
        const params = {
          to,
          message: words.join(" "),
          idempotencyKey: option(context, "key") ?? randomUUID(),
          ...optional("channel", option(context, "channel")),
          ...optional("accountId", option(context, "account")),
          ...optional("sessionKey", option(context, "session")),
        };
        show(context, await client.call(outbound.send, params), ({ channel, chatId = to, messageId }) => [
          `sent to ${visible(chatId)} on ${visible(channel)} (message ${visible(messageId)})`,
        ]);
      }),
  },
]);

function option({ options }: CommandContext, name: string): string | undefined {
  const value = options[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

function optional<K extends string>(key: K, value: string | undefined): { readonly [key in K]?: string } {
  return value === undefined ? {} : ({ [key]: value } as { readonly [key in K]: string }); // a computed key widens
}
