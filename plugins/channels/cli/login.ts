/** `svc channels add|login|logout|remove`: the login of an account in steps, in the terminal. */
import { setTimeout as sleep } from "node:timers/promises";
import { invalidRequest, notFound, type ResultOf } from "@svc/sdk";
import { type ChannelAccountSnapshot, channelLogin, channels, type LoginStepView } from "@svc/sdk/channels";
import { askText, askYes, canAsk, type CommandContext, commandText, show, visible, withGateway } from "@svc/sdk/cli";
import { config } from "@svc/sdk/config";
import type { GatewayClient } from "@svc/sdk/client";
import { renderUnicodeCompact } from "uqr";

/** Choice: milliseconds to wait for the connection after a login. */
const CONNECT_MS = 20_000;
const LOOK_EVERY_MS = 300;

interface LoginFlags {
  readonly account?: string;
  readonly set?: readonly string[];
  readonly env?: readonly string[];
}

/** @param isNew refuse an account that is already configured. @returns the exit code */
export async function login(context: CommandContext, isNew: boolean): Promise<number> {
  const [name = ""] = context.args;
  const { account, set = [], env = [] } = context.options as LoginFlags;
  const given = { ...pairsOf(set, "--set"), ...references(env) };
  return withGateway(context, ["operator.admin"], async (client) => {
    const started = await client.call(channelLogin.start, {
      channel: name,
      ...(account === undefined ? {} : { accountId: account }),
    });
    const { channel, accountId } = started;
    if (isNew && (await snapshotOf(client, channel, accountId))?.configured === true)
      invalidRequest(
        `account ${accountId} of ${channel} is already configured\nNext: svc channels login ${channel}, or another account: --account work`,
      );
    let answer: ResultOf<typeof channelLogin.next> = started;
    while (answer.step.kind !== "done") {
      const answers = await answersOf(answer.step, given, context, channel);
      answer = await client.call(channelLogin.next, { loginId: started.loginId, answers });
    }
    const state = await connected(client, channel, accountId);
    show(context, { channel, accountId, path: answer.path, message: answer.step.message, ...state }, () => [
      visible(answer.step.message),
      ...(answer.path === undefined ? [] : [`Written: ${visible(answer.path)}`]),
      state.connected
        ? `${visible(channel)} is connected.`
        : `${visible(channel)} is not connected yet: ${visible(state.state)}. Next: svc channels status --probe`,
      ...(state.dmPolicy === "pairing"
        ? [
            "Write to the bot now: it answers with a pairing code.",
            `Let the sender in: svc channels pairing approve ${visible(channel)} <code>`,
          ]
        : []),
    ]);
    return state.connected ? 0 : 1;
  });
}

/** `svc channels logout`. */
export async function logout(context: CommandContext): Promise<void> {
  const [channel = ""] = context.args;
  const { account } = context.options as LoginFlags;
  await withGateway(context, ["operator.admin"], async (client) => {
    const params = { channel, ...(account === undefined ? {} : { accountId: account }) };
    show(context, await client.call(channels.logout, params), ({ accountId, cleared }) => [
      cleared
        ? `Logged out account ${visible(accountId)} of ${visible(channel)}.`
        : `Account ${visible(accountId)} of ${visible(channel)} had no stored login.`,
    ]);
  });
}

/** `svc channels remove`: deletes the configuration of an account. @returns the exit code */
export async function remove(context: CommandContext): Promise<number> {
  const [name = ""] = context.args;
  const { account, yes } = context.options as LoginFlags & { readonly yes?: boolean };
  return withGateway(context, ["operator.admin"], async (client) => {
    const { parsed, hash } = await client.call(config.get, {});
    const { channels: sections = {} } = Object(parsed) as { channels?: Readonly<Record<string, unknown>> };
    const section = sections[name] as { accounts?: Readonly<Record<string, unknown>> } | undefined;
    if (section === undefined) return notFound(`channels.${name} is not configured\nNext: svc channels list`);
    if (account !== undefined && !Object.hasOwn(Object(section.accounts), account))
      return notFound(`channels.${name}.accounts.${account} is not configured\nNext: svc channels list`);
    const path = account === undefined ? `channels.${name}` : `channels.${name}.accounts.${account}`;
    if (yes !== true && !(canAsk(context) && (await askYes(`Delete ${path} with its login?`, context)))) {
      context.note(`Nothing was deleted.${canAsk(context) ? "" : "\nNext: repeat the command with --yes"}`);
      return 1;
    }
    const gone = account === undefined ? null : { accounts: { [account]: null } };
    await client.call(config.patch, { raw: JSON.stringify({ channels: { [name]: gone } }), baseHash: hash });
    show(context, { removed: path }, () => [`Deleted ${visible(path)}.`]);
    return 0;
  });
}

/** @throws GatewayError `INVALID_REQUEST` naming the missing value and how to give it */
async function answersOf(
  { message, fields = [], url, qr }: LoginStepView,
  given: Readonly<Record<string, string>>,
  context: CommandContext,
  channel: string,
): Promise<Readonly<Record<string, string>>> {
  const isPerson = canAsk(context);
  const write = isPerson ? (line: string) => context.print(line) : (line: string) => context.note(line);
  const isComplete = fields.every(({ key, optional }) => Object.hasOwn(given, key) || optional === true);
  if (fields.length === 0 || !isComplete) write(visible(message));
  if (url !== undefined) write(visible(url));
  if (qr !== undefined) write(renderUnicodeCompact(qr));
  const answers: Record<string, string> = {};
  for (const { key, label, help, secret = false, optional = false } of fields) {
    const value = given[key];
    if (value !== undefined) answers[key] = value;
    else if (isPerson && !isComplete) {
      if (help !== undefined) write(visible(help));
      answers[key] = await askText(`${visible(label)}${optional ? " (optional)" : ""}: `, context, secret);
    } else if (!optional)
      invalidRequest(
        `${key} is missing: ${label}${help === undefined ? "" : `. ${help}`}\nNext: ${commandText(["svc", "channels", "add", channel, "--env", `${key}=NAME`])}, with NAME set in the environment of the gateway`,
      );
  }
  return answers;
}

function pairsOf(entries: readonly string[], flag: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    entries.map((entry) => {
      const at = entry.indexOf("=");
      if (at < 1) invalidRequest(`${flag} ${visible(entry)}: write ${flag} key=value`);
      return [entry.slice(0, at), entry.slice(at + 1)];
    }),
  );
}

function references(entries: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(pairsOf(entries, "--env")).map(([key, name]) => {
      if (!/^[A-Z_][A-Z0-9_]*$/.test(name))
        invalidRequest(`--env ${visible(key)}: needs the name of an environment variable, in capitals, not the value`);
      return [key, `\${${name}}`];
    }),
  );
}

/** The account once it is connected, or its last state. */
async function connected(client: GatewayClient, channel: string, accountId: string) {
  let account: ChannelAccountSnapshot | undefined;
  for (const end = Date.now() + CONNECT_MS; Date.now() < end; await sleep(LOOK_EVERY_MS)) {
    account = await snapshotOf(client, channel, accountId);
    if (account?.connected === true || account?.linked === false) break;
  }
  const { connected: isConnected = false, state = "not loaded", lastError, dmPolicy } = account ?? {};
  return { connected: isConnected, state: lastError ?? state, dmPolicy };
}

async function snapshotOf(client: GatewayClient, channel: string, accountId: string) {
  const status = await client.call(channels.status, {});
  return (status.channelAccounts[channel] ?? []).find((account) => account.accountId === accountId);
}
