/** The tool `message`: an agent or a program sends texts, files and polls on a channel, reacts to messages and changes them. */
import { createHash } from "node:crypto";
import { placeOf } from "@svc/kit/files";
import { type Clock, GatewayError, invalidRequest, type Live, type Static, Strict, Type } from "@svc/sdk";
import type { AgentRuns } from "@svc/sdk/agents";
import {
  defineTool,
  type Tool,
  type ToolAddress,
  type ToolCall,
  type ToolContext,
  type ToolResult,
} from "@svc/sdk/tools";
import { lastRouteOf } from "./addressing.ts";
import { checkEdit, edit, react, reactionOf } from "./changing.ts";
import { type Target, targetOf } from "./message-target.ts";
import type { ChannelAccounts } from "../accounts/channel-accounts.ts";
import { loadFiles, MAX_FILES } from "./outgoing-files.ts";
import {
  type CheckedDestination,
  mirrorKeyOf,
  pollOf,
  resolve,
  sceneOf,
  sendOnce,
  type SendingSources,
  textOf,
} from "./sending.ts";

const ACTIONS = ["send", "react", "edit", "poll"] as const;
type Action = (typeof ACTIONS)[number];

export interface MessageToolSources extends SendingSources {
  readonly runs: Live<AgentRuns>;
  readonly stateDir: () => string;
  readonly clock: Pick<Clock, "now" | "setTimeout">;
  /** Aborts when the plugin stops. */
  readonly signal: AbortSignal;
}

const said = (description: string) => Type.Optional(Type.String({ description }));

const Params = Strict({
  action: said(
    "`send` a text or files, `react` to a message with an emoji, `edit` a message you sent, or send a `poll`",
  ),
  channel: said("channel, e.g. `irc`, or `last`; default: the channel of this conversation"),
  to: said("recipient, in the channel's own notation; default: the chat of this conversation"),
  message: said("text to send, in Markdown; the new text for `edit`"),
  text: said("same as `message`"),
  media: Type.Optional(
    Type.Array(Type.String({ minLength: 1 }), {
      maxItems: MAX_FILES,
      description: "files to send: paths in your workspace, http(s) URLs or data URLs",
    }),
  ),
  voice: Type.Optional(Type.Boolean({ description: "send audio files as voice messages" })),
  replyTo: said("id of the message to answer"),
  messageId: said("message for `react` and `edit`; default for `react`: the message you are answering"),
  emoji: said("emoji for `react`"),
  remove: Type.Optional(Type.Boolean({ description: "take the reaction back" })),
  question: said("question of a `poll`"),
  options: Type.Optional(
    Type.Array(Type.String({ minLength: 1 }), { maxItems: 12, description: "2 to 12 options of a `poll`" }),
  ),
  maxSelections: Type.Optional(Type.Integer({ minimum: 1, maximum: 12, description: "default 1" })),
  accountId: said(
    "account of the channel; default: the account of this conversation, else the channel's default account",
  ),
  threadId: said("thread to write in"),
});
type Params = Static<typeof Params>;

/** A checked call: where it goes, and what the caller asked for. */
interface Sitting {
  readonly params: Params;
  readonly destination: CheckedDestination;
  readonly threadId: string | undefined;
  readonly context: ToolContext;
}

export function messageTool(sources: MessageToolSources): Tool {
  const { accounts, sessions } = sources;
  return defineTool({
    description:
      "Sends a text, files or a poll to a person or group on a chat channel, reacts to a message, or changes a message you sent. " +
      "By default it is sent to the chat of this conversation; your reply is sent there automatically, so do not send it with this tool as well.",
    params: Params,
    scope: "operator.write",
    effects: async ({ channel, to, accountId, threadId }, { call }) => {
      const asked = Object.fromEntries(
        Object.entries({ channel, to, accountId, threadId }).filter(([, value]) => value !== undefined),
      );
      return (await staysHere(asked, call, sources)) ? ["writes-workspace"] : ["sends-out"];
    },
    brings: "none",
    async run(params, context) {
      const { call } = context;
      const action = actionOf(params.action);
      const known = sessions.get();
      const entry = await known?.get(call.sessionKey);
      if (action === "send" || action === "edit") textOf({ message: spoken(params) }, params.media?.length);
      if (known?.sendPolicy(call.sessionKey, entry) === "deny") refuseByPolicy();
      const target = targetOf(askedOf(params), call.address, lastRouteOf(entry), (name) => accounts.channelId(name));
      const { inheritedThread, ...told } = target;
      const destination = await resolve({ ...told, to: recipient(target, accounts) }, accounts);
      const threadId = target.threadId ?? inheritedThread;
      const sitting = { params, destination, threadId, context };
      return ACT[action](sitting, sources);
    },
  });
}

const ACT: Readonly<Record<Action, (sitting: Sitting, sources: MessageToolSources) => Promise<ToolResult>>> = {
  async send(sitting, sources) {
    const { params, destination, context } = sitting;
    const { media = [], voice = false, replyTo } = params;
    const agents = sources.agents.get();
    const scene = {
      ...sceneOf(destination, sources),
      isVoice: voice,
      place: agents && (await placeOf(context.call.agentId, { agents, stateDir: sources.stateDir }, false)),
    };
    const files = await loadFiles(media, scene);
    const digests = files.map(({ bytes }) => createHash("sha256").update(bytes).digest("hex"));
    const extras = replyTo === undefined ? {} : { extras: { replyTo } };
    return deliver(sitting, { text: spoken(params), files, ...extras }, digests, sources);
  },

  async poll(sitting, sources) {
    const { question = "", options = [], maxSelections } = sitting.params;
    if (question.trim() === "" || options.length < 2)
      invalidRequest("a poll needs question, and options with at least two texts");
    const asked = { question, options, ...(maxSelections === undefined ? {} : { maxSelections }) };
    const poll = pollOf(asked, sitting.destination.contribution);
    return deliver(sitting, { text: "", extras: { poll } }, [poll], sources);
  },

  async react({ params, destination, threadId, context }, sources) {
    const { remove = false, messageId = ownMessage(destination, context.call) } = params;
    const emoji = reactionOf(params.emoji ?? "", destination);
    if (messageId === undefined)
      return invalidRequest("messageId required: this conversation has no message to react to");
    await react({ destination, threadId, messageId }, { emoji, remove }, sources);
    return done(`${remove ? "Took back" : "Reacted with"} ${emoji}.`, { action: "react", messageId });
  },

  async edit({ params, destination, threadId }, sources) {
    const { messageId } = params;
    const text = spoken(params);
    checkEdit(text, destination);
    if (messageId === undefined) return invalidRequest("messageId required: the one that `send` returned");
    await edit({ destination, threadId, messageId }, text, sources);
    return done("Changed the message.", { action: "edit", messageId });
  },
};

type Letter = Pick<Parameters<typeof sendOnce>[0], "text" | "files" | "extras">;

/** Sends once for the same call and content. */
async function deliver(
  { destination, threadId, context }: Sitting,
  letter: Letter,
  content: readonly unknown[],
  sources: MessageToolSources,
): Promise<ToolResult> {
  const { call, outside } = context;
  const { contribution, accountId, to } = destination;
  const thread = threadId === undefined ? {} : { threadId };
  const noted = await mirrorKeyOf({ agentId: call.agentId, ...thread }, destination, sources);
  const mirrorKey = noted === call.sessionKey && isOwnTurn(call, sources) ? undefined : noted;
  const id = letterId(call, [contribution.id, accountId, to, threadId ?? null, letter.text, ...content]);
  const sent = await sendOnce({ id, destination, threadId, ...letter, mirrorKey, origin: outside?.origin }, sources);
  const action = letter.extras?.poll === undefined ? "send" : "poll";
  const details = { ok: true, action, channel: sent.channel, accountId, to: sent.to, ...thread };
  const ids = {
    ...(sent.messageId === undefined ? {} : { messageId: sent.messageId }),
    ...(sent.pollId === undefined ? {} : { pollId: sent.pollId }),
  };
  return done(`Sent to ${sent.to} on ${sent.channel}.`, { ...details, ...ids });
}

function done(text: string, details: Readonly<Record<string, unknown>>): ToolResult {
  return { content: [{ type: "text", text }], details: { ok: true, ...details } };
}

function actionOf(action = ""): Action {
  const wanted = action.trim();
  if (wanted === "") return invalidRequest("action required");
  const known = ACTIONS.find((one) => one === wanted);
  return known ?? invalidRequest(`unknown action "${wanted}"; actions: ${ACTIONS.join(", ")}`);
}

function askedOf({ channel, to, accountId, threadId }: Params): ToolAddress {
  return {
    ...(channel === undefined ? {} : { channel }),
    ...(to === undefined ? {} : { to }),
    ...(accountId === undefined ? {} : { accountId }),
    ...(threadId === undefined ? {} : { threadId }),
  };
}

/** The message that the run answers, if the call stays in its chat. */
function ownMessage({ contribution, to }: CheckedDestination, { address }: ToolCall): string | undefined {
  return address?.channel === contribution.id && address.to === to ? address.messageId : undefined;
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

function spoken({ message = "", text = "", media = [], action }: Params): string {
  const words = message.trim() === "" ? text : message;
  const isNeeded = media.length === 0 || action?.trim() === "edit";
  return words.trim() === "" && isNeeded ? invalidRequest("message required") : words;
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
