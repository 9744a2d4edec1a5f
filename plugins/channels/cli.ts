/** `svc channels ...`: shows the state of channels and sends texts. */
import { randomUUID } from "node:crypto";
import { channels, outbound } from "@svc/sdk/channels";
import { askingWith, type CommandContext, defineCommands, show, showFindings, visible } from "@svc/sdk/cli";
import { findingsOf, statusLines } from "./cli-text.ts";

const ask = askingWith({ plugin: "channels", step: "svc channels status" });

export default defineCommands([
  {
    name: "channels status",
    summary: "Show the channels, their accounts and their state",
    options: [{ flags: "--probe", description: "query each network whose channel supports it" }],
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
    summary: "Check that the channels work and let in only the intended people",
    options: [{ flags: "--running", description: "call the gateway that uses the state directory" }],
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
      { flags: "--channel <id>", description: "channel to use; default: the only configured one" },
      { flags: "--account <id>", description: "account to use; default: the channel's default account" },
      { flags: "--session <key>", description: "session that records the text; default: the recipient's session" },
      { flags: "--key <key>", description: "idempotency key: repeated calls with the same key send the text once" },
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
