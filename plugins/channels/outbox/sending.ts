/** Handlers of `send` and `poll`. Spec: protocol/methods-send.md. */
import { MAX_PIECES } from "@svc/kit/channels";
import {
  type Clock,
  type Contribution,
  type Handlers,
  invalidRequest,
  type Live,
  type Origin,
  originOf,
  type ParamsOf,
  unavailable,
} from "@svc/sdk";
import type { AgentDirectory } from "@svc/sdk/agents";
import type { Channel, MessagePoll, outbound, OutboundMedia } from "@svc/sdk/channels";
import type { Sessions } from "@svc/sdk/sessions";
import type { OutboundFetch } from "@svc/sdk/web";
import type { MediaStore } from "../media-store.ts";
import { addressOf, type Destination, inboundAddressOf } from "./addressing.ts";
import type { Ended, Outbox } from "./outbox.ts";
import type { ChannelAccounts } from "../accounts/channel-accounts.ts";
import { loadFiles, storeFiles } from "./outgoing-files.ts";
import type { Extras } from "./outbox-store.ts";
import { SEND_MS } from "./piece.ts";

/** Milliseconds for which the result of a key is stored and returned to repeated calls. Spec: §1. */
export const KEPT_MS = 300_000;
/** The channel of the gateway's own clients. */
const INTERNAL = "webchat";
/** Characters of one text. Choice: more than the pieces of one text can carry. */
const MAX_CHARS = 100_000;

type SendParams = ParamsOf<typeof outbound.send>;
type Addressed = Pick<SendParams, "channel" | "accountId" | "threadId" | "to">;
type Mirrored = Pick<SendParams, "sessionKey" | "agentId" | "threadId">;

/** Services needed to send a text whose caller waits for the result. */
export interface SendingSources {
  readonly accounts: ChannelAccounts;
  readonly outbox: Pick<Outbox, "add" | "ended">;
  readonly sessions: Live<Sessions>;
  readonly agents: Live<AgentDirectory>;
  readonly media: Pick<MediaStore, "add">;
  readonly fetching: Live<OutboundFetch>;
  readonly clock: Pick<Clock, "now">;
}

/** A checked destination of a text. */
export interface CheckedDestination {
  readonly contribution: Contribution<Channel>;
  readonly accountId: string;
  readonly to: string;
}

/** A text and its delivery data. */
interface Letter {
  readonly id: string;
  readonly destination: CheckedDestination;
  readonly threadId: string | undefined;
  readonly text: string;
  readonly files?: readonly OutboundMedia[];
  readonly extras?: Omit<Extras, "media">;
  /** Session that records the text. */
  readonly mirrorKey: string | undefined;
  /** Origin of the text; absent: the owner. */
  readonly origin?: Origin | undefined;
  /** epoch ms; a text with this id that ended earlier is replaced. Default: never replaced. */
  readonly forgottenBefore?: number;
}

/** Stores the text, then makes one attempt. @returns the outcome stored under this id. @throws GatewayError `UNAVAILABLE` with the reason */
export async function sendOnce(
  { id, destination, threadId, text, files = [], extras, mirrorKey, origin, forgottenBefore }: Letter,
  { outbox, media: store, clock }: Pick<SendingSources, "outbox" | "media" | "clock">,
): Promise<Ended> {
  const { contribution, accountId, to } = destination;
  const media = await storeFiles(id, files, { store, clock });
  const more = { ...extras, ...(media.length === 0 ? {} : { media }) };
  const thread = threadId === undefined ? {} : { threadId };
  const mirror = mirrorKey === undefined ? {} : { mirrorKey, ...(origin && { mirrorOrigin: origin }) };
  const { maxTextChars: maxChars } = contribution.value.capabilities;
  const message = {
    id,
    channel: contribution.id,
    accountId,
    to,
    text,
    maxChars,
    once: true,
    extras: more,
    ...thread,
    ...mirror,
  };
  await outbox.add(message, forgottenBefore);
  const ended = await outbox.ended(id, SEND_MS * (MAX_PIECES + 1));
  return ended?.status === "sent" ? ended : unavailable(ended?.reason ?? "the network has not responded in time");
}

export function createSending(sources: SendingSources): Omit<Handlers<typeof outbound>, "action"> {
  const { accounts, clock } = sources;
  return {
    async send({ params, principal }) {
      const { idempotencyKey: runId, threadId } = params;
      const { mediaUrl, mediaUrls = [] } = params;
      const urls = [mediaUrl ?? "", ...mediaUrls].map((url) => url.trim()).filter((url) => url !== "");
      const text = textOf(params, urls.length);
      const destination = await resolve(params, accounts);
      const files = await loadFiles([...new Set(urls)], sceneOf(destination, sources));
      const mirrorKey = await mirrorKeyOf(params, destination, sources);
      // On disk, so that a repeated call gets the same result after a restart as well.
      const forgottenBefore = clock.now() - KEPT_MS;
      const letter = {
        id: `send:${runId}`,
        destination,
        threadId,
        text,
        files,
        mirrorKey,
        origin: originOf(principal),
        forgottenBefore,
      };
      const { messageId = runId, channel, to: chatId } = await sendOnce(letter, sources);
      return { runId, messageId, channel, chatId };
    },

    async poll({ params, principal }) {
      const { idempotencyKey: runId, threadId } = params;
      const destination = await resolve(params, accounts);
      const poll = pollOf(params, destination.contribution);
      const mirrorKey = await mirrorKeyOf(threadId === undefined ? {} : { threadId }, destination, sources);
      const forgottenBefore = clock.now() - KEPT_MS;
      const extras = { poll, ...(params.silent === true ? { silent: true } : {}) };
      const letter = { id: `poll:${runId}`, destination, threadId, text: "", extras, mirrorKey, forgottenBefore };
      const sent = await sendOnce({ ...letter, origin: originOf(principal) }, sources);
      const { messageId = runId, channel, to: chatId, pollId } = sent;
      return { runId, messageId, channel, chatId, ...(pollId === undefined ? {} : { pollId }) };
    },
  };
}

/** What loading files for a destination needs. */
export function sceneOf({ contribution }: CheckedDestination, { fetching }: Pick<SendingSources, "fetching">) {
  const { label, capabilities } = contribution.value;
  return { label, capabilities, outbound: fetching.get() };
}

/**
 * The poll within the limits of the channel. Spec: §2.
 * @throws GatewayError `INVALID_REQUEST`: the channel has no such polls; `UNAVAILABLE`: the fields contradict each other
 */
export function pollOf(
  params: Omit<ParamsOf<typeof outbound.poll>, "to" | "idempotencyKey">,
  { id, value }: Contribution<Channel>,
): MessagePoll {
  const { question, options, maxSelections = 1, durationSeconds, durationHours, isAnonymous } = params;
  const { polls } = value.capabilities;
  if (!polls)
    return invalidRequest(`channel ${id} does not support polls; send the question as a text: svc channels send`);
  const { maxOptions, multiple = false, maxSeconds, anonymous = false } = polls;
  if (options.length > maxOptions) invalidRequest(`polls on ${id} have at most ${maxOptions} options`);
  if (maxSelections > 1 && !multiple) invalidRequest(`people select one option in a poll on ${id}`);
  if (isAnonymous !== undefined && !anonymous) invalidRequest(`polls on ${id} have no isAnonymous; remove it`);
  if (maxSelections > options.length) unavailable("maxSelections is larger than the number of options");
  if (durationSeconds !== undefined && durationHours !== undefined)
    unavailable("durationSeconds and durationHours exclude each other");
  const seconds = durationSeconds ?? (durationHours === undefined ? undefined : durationHours * 3_600);
  if (seconds !== undefined && maxSeconds === undefined) invalidRequest(`polls on ${id} have no duration; remove it`);
  if (seconds !== undefined && seconds > (maxSeconds ?? 0))
    invalidRequest(`polls on ${id} last at most ${maxSeconds ?? 0} seconds`);
  return {
    question,
    options,
    maxSelections,
    ...(seconds === undefined ? {} : { seconds }),
    ...(isAnonymous === undefined ? {} : { isAnonymous }),
  };
}

/** @param files number of files sent with the text @throws GatewayError `INVALID_REQUEST` */
export function textOf({ message = "" }: Pick<SendParams, "message">, files = 0): string {
  if (message.trim() === "" && files === 0) invalidRequest("message is empty; set it to the text to send");
  if (message.length > MAX_CHARS) invalidRequest(`message has more than ${MAX_CHARS} characters; shorten it`);
  return message;
}

/** @throws GatewayError `INVALID_REQUEST`, `NOT_FOUND` or `UNAVAILABLE` */
export async function resolve(
  { channel, accountId, threadId, to }: Addressed,
  accounts: ChannelAccounts,
): Promise<CheckedDestination> {
  if (channel?.trim().toLowerCase() === INTERNAL) {
    invalidRequest(`"${INTERNAL}" is the channel of the gateway's own clients; use chat.send, or name another channel`);
  }
  const { contribution, account } = accounts.chosenAccount(accounts.chosen(channel), accountId);
  if (threadId !== undefined && contribution.value.capabilities.threads !== true) {
    invalidRequest(`channel ${contribution.id} has no threads; remove threadId`);
  }
  const address = await addressOf(contribution, to.trim(), accounts);
  return {
    contribution,
    accountId: account.id,
    to: address ?? invalidRequest(`"${to}" is not an address of channel ${contribution.id}`),
  };
}

/** The session that records the text; `undefined` if no plugin provides sessions. @throws GatewayError `INVALID_REQUEST` */
export async function mirrorKeyOf(
  { sessionKey, agentId, threadId }: Mirrored,
  destination: Destination,
  { sessions, agents, accounts }: Pick<SendingSources, "sessions" | "agents" | "accounts">,
): Promise<string | undefined> {
  const agent = agentId?.trim() || undefined;
  if (agent !== undefined && agents.get()?.has(agent) === false) invalidRequest(`no agent "${agent}"; see agents.list`);
  const known = sessions.get();
  if (!known) return undefined;
  if (sessionKey !== undefined && sessionKey.trim() !== "") return known.canonicalKey(sessionKey);
  const thread = threadId === undefined ? {} : { threadId };
  const route = known.route(await inboundAddressOf({ ...destination, ...thread }, accounts));
  if (agent === undefined || route.agentId === agent) return route.sessionKey;
  return known.canonicalKey(`agent:${agent}:${route.sessionKey.replace(/^agent:[^:]*:/, "")}`);
}
