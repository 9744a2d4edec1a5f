/** The tool `message`: an agent or a program sends a text on a channel. */
import { createHash } from "node:crypto";
import { GatewayError, invalidRequest, type Live, Strict, Type } from "@svc/sdk";
import type { AgentRuns } from "@svc/sdk/agents";
import { defineTool, type Tool, type ToolAddress, type ToolCall } from "@svc/sdk/tools";
import { lastRouteOf } from "./addressing.ts";
import { type Target, targetOf } from "./message-target.ts";
import type { ChannelAccounts } from "../accounts/channel-accounts.ts";
import { mirrorKeyOf, resolve, sendOnce, type SendingSources, textOf } from "./sending.ts";

const ACTION = "send";

export interface MessageToolSources extends SendingSources {
  readonly runs: Live<AgentRuns>;
}

const said = (description: string) => Type.Optional(Type.String({ description }));

export function messageTool(sources: MessageToolSources): Tool {
  const { accounts, sessions } = sources;
  return defineTool({
    description:
      "Sends a text to a person or group on a chat channel. By default it is sent to the chat of this conversation; " +
      "your reply is sent there automatically, so do not send it with this tool as well.",
    params: Strict({
      action: said("`send`"),
      channel: said("channel, e.g. `irc`, or `last`; default: the channel of this conversation"),
      to: said("recipient, in the channel's own notation; default: the chat of this conversation"),
      message: said("text to send"),
      text: said("same as `message`"),
      accountId: said(
        "account of the channel; default: the account of this conversation, else the channel's default account",
      ),
      threadId: said("thread to write in"),
    }),
    scope: "operator.write",
    effects: async ({ action: _action, message: _message, text: _text, ...asked }, { call }) =>
      (await staysHere(asked, call, sources)) ? ["writes-workspace"] : ["sends-out"],
    brings: "none",
    async run({ action = "", message, text, ...asked }, { call, outside }) {
      if (action.trim() === "") return invalidRequest("action required");
      if (action.trim() !== ACTION) return invalidRequest(`unknown action "${action.trim()}"; actions: ${ACTION}`);
      const words = textOf({ message: spoken(message, text) });
      const known = sessions.get();
      const entry = await known?.get(call.sessionKey);
      if (known?.sendPolicy(call.sessionKey, entry) === "deny") refuseByPolicy();
      const target = targetOf(asked, call.address, lastRouteOf(entry), (name) => accounts.channelId(name));
      const { inheritedThread, ...told } = target;
      const destination = await resolve({ ...told, to: recipient(target, accounts) }, accounts);
      const threadId = target.threadId ?? inheritedThread;
      const thread = threadId === undefined ? {} : { threadId };
      const noted = await mirrorKeyOf({ agentId: call.agentId, ...thread }, destination, sources);
      const mirrorKey = noted === call.sessionKey && isOwnTurn(call, sources) ? undefined : noted;
      const { contribution, accountId, to } = destination;
      const id = letterId(call, [contribution.id, accountId, to, threadId ?? null, words]);
      const sent = await sendOnce(
        { id, destination, threadId, text: words, mirrorKey, origin: outside?.origin },
        sources,
      );
      const details = { ok: true, action: ACTION, channel: sent.channel, accountId, to: sent.to, ...thread };
      return {
        content: [{ type: "text", text: `Sent to ${sent.to} on ${sent.channel}.` }],
        details: sent.messageId === undefined ? details : { ...details, messageId: sent.messageId },
      };
    },
  });
}

/** Whether the text goes to the chat of the conversation: the people there get the reply as well. */
async function staysHere(
  asked: ToolAddress,
  { address, sessionKey }: ToolCall,
  { accounts, sessions }: MessageToolSources,
): Promise<boolean> {
  const last = lastRouteOf(await sessions.get()?.get(sessionKey));
  const goalOf = (wanted: ToolAddress) => targetOf(wanted, address, last, (name) => accounts.channelId(name));
  const [goal, here] = [goalOf(asked), goalOf({})];
  const keys = ["channel", "to", "accountId", "threadId"] as const;
  return here.to !== undefined && keys.every((key) => goal[key] === here[key]);
}

function spoken(message = "", text = ""): string {
  const words = message.trim() === "" ? text : message;
  return words.trim() === "" ? invalidRequest("message required") : words;
}

/** @throws GatewayError `INVALID_REQUEST` naming the missing parameter */
function recipient({ channel, to }: Target, accounts: Pick<ChannelAccounts, "configured" | "channels">): string {
  const [only, other] = accounts.configured();
  if (channel === undefined && (!only || other)) {
    const known = accounts.channels().map(({ id }) => id);
    const why = only ? "several are configured, and this conversation is on none of them" : "none is configured";
    return invalidRequest(`channel required: ${why}; channels: ${known.join(", ") || "none"}`);
  }
  return to ?? invalidRequest(`to required: no recipient is known on ${channel ?? only?.id}`);
}

/** Whether the call is part of a running turn of this session: then no message may come between the call and its result. */
function isOwnTurn({ sessionKey, runId }: ToolCall, { runs }: Pick<MessageToolSources, "runs">): boolean {
  return (
    runs
      .get()
      ?.active(sessionKey)
      .some((run) => run.runId === runId) ?? false
  );
}

/** The same call sends once. Choice: the content is part of the id, because ids of calls are not trustworthy. */
function letterId({ runId, toolCallId }: ToolCall, letter: readonly unknown[]): string {
  const digest = createHash("sha256")
    .update(JSON.stringify([runId, toolCallId, ...letter]))
    .digest("hex");
  return `message:${digest}`;
}

function refuseByPolicy(): never {
  throw new GatewayError("FORBIDDEN", 'the send policy of the session is "deny"');
}
