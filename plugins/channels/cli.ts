/** `svc channels ...`: sets up channels, shows their state, lets people in and sends texts. */
import { randomUUID } from "node:crypto";
import { channels, outbound } from "@svc/sdk/channels";
import { askingWith, type CommandContext, defineCommands, show, showFindings, visible } from "@svc/sdk/cli";
import { login, logout, remove } from "./cli/login.ts";
import { pairingApprove, pairingList, pairingRemove } from "./cli/pairing.ts";
import { findingsOf, listLines, statusLines } from "./cli/text.ts";

const ask = askingWith({ plugin: "channels", step: "svc channels status" });

const account = { flags: "--account <id>", description: "account of the channel; default: its default account" };
const loginOptions = [
  account,
  {
    flags: "--env <key=NAME>",
    description: "take a value from an environment variable of the gateway; the configuration refers to it",
    repeatable: true,
  },
  {
    flags: "--set <key=value>",
    description: "a value; it is visible in the process list, so use --env for secrets",
    repeatable: true,
  },
];

export default defineCommands([
  {
    name: "channels add",
    summary: "Set up an account of a channel: checks its login with the network, then writes the configuration",
    args: "<channel>",
    options: loginOptions,
    help: ["Without --env and --set the command asks for the values. It prints where to find them."],
    examples: ["svc channels add telegram", "svc channels add telegram --env botToken=TELEGRAM_BOT_TOKEN"],
    run: (context) => login(context, true),
  },
  {
    name: "channels login",
    summary: "Renew the login of an account of a channel",
    args: "<channel>",
    options: loginOptions,
    examples: ["svc channels login telegram", "svc channels login slack --account work"],
    run: (context) => login(context, false),
  },
  {
    name: "channels logout",
    summary: "Stop an account and delete its login, if the channel supports it",
    args: "<channel>",
    options: [account],
    examples: ["svc channels logout whatsapp"],
    run: logout,
  },
  {
    name: "channels remove",
    summary: "Delete an account of a channel from the configuration",
    args: "<channel>",
    options: [
      { flags: "--account <id>", description: "only this account; default: the whole channel" },
      { flags: "--yes", description: "do not ask" },
    ],
    examples: ["svc channels remove telegram", "svc channels remove slack --account work --yes"],
    run: remove,
  },
  {
    name: "channels list",
    summary: "List the loaded channels and their accounts",
    examples: ["svc channels list", "svc channels list --json"],
    run: (context) =>
      ask(context, ["operator.read"], async (client) => {
        show(context, await client.call(channels.status, {}), listLines);
      }),
  },
  {
    name: "channels pairing list",
    summary: "List people who wait for access, and people who have it",
    args: "[channel]",
    examples: ["svc channels pairing list", "svc channels pairing list telegram"],
    run: pairingList,
  },
  {
    name: "channels pairing approve",
    summary: "Give the person with this pairing code access to the agent",
    args: "<channel> <code>",
    options: [account, { flags: "--quiet", description: "do not send the person a message" }],
    examples: ["svc channels pairing approve telegram K7PQ2MXA"],
    run: pairingApprove,
  },
  {
    name: "channels pairing remove",
    summary: "Take back the access of a person, or refuse a waiting one",
    args: "<channel> <person>",
    options: [account],
    examples: ["svc channels pairing remove telegram 100200300"],
    run: pairingRemove,
  },
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
    summary: "Send a text or files to a chat",
    args: "<to> [text...]",
    options: [
      { flags: "--media <url>", description: "http(s) or data URL of a file to send", repeatable: true },
      { flags: "--thread <id>", description: "thread to write in" },
      { flags: "--channel <id>", description: "channel to use; default: the only configured one" },
      { flags: "--account <id>", description: "account to use; default: the channel's default account" },
      { flags: "--session <key>", description: "session that records the text; default: the recipient's session" },
      { flags: "--key <key>", description: "idempotency key: repeated calls with the same key send the text once" },
    ],
    examples: [
      'svc channels send --channel irc "#team" The build is green',
      "svc channels send ann hello --key build-42",
      "svc channels send --channel telegram 100200300 The report --media https://example.com/report.pdf",
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
          ...optional("threadId", option(context, "thread")),
          mediaUrls: Array.isArray(context.options["media"]) ? context.options["media"].map(String) : [],
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
