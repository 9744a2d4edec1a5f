/** Sends one message through its channel, or changes a message that was sent. */
import { AnySignal } from "@svc/kit/time";
import { type Clock, isGatewayError, lazy, untilAborted } from "@svc/sdk";
import type { Channel, ChannelCall, ChannelPlace, OutboundMedia, SendReceipt } from "@svc/sdk/channels";
import type { ChannelAccounts, Listed } from "../accounts/channel-accounts.ts";
import { secretsOf, toldError } from "../accounts/hidden.ts";
import type { OutboxText } from "./outbox-store.ts";
import type { Piece } from "./pieces.ts";

/** The Markdown library is loaded with the first text that may contain markup. */
const markupCode = lazy(() => import("./markup.ts"));
/** A line that is the same in every markup. */
const PLAIN_LINE = /^(?!\d+[.)])[\p{L}\p{N} .,!?'":;()]*$/u;

async function rendered(markdown: string, markup: Channel["capabilities"]["markup"]): Promise<string> {
  return PLAIN_LINE.test(markdown) ? markdown : (await markupCode()).rendered(markdown, markup);
}

/** Choice: milliseconds one piece may take. */
export const SEND_MS = 60_000;

export interface PieceSources {
  readonly accounts: Pick<ChannelAccounts, "channel" | "account" | "absence" | "call" | "isLoading">;
  readonly clock: Pick<Clock, "setTimeout">;
  /** Aborts when the time of a stop is over. */
  readonly signal: AbortSignal;
}

/**
 * Why a piece was not sent. `failed`: the network did not accept it, or did not confirm it. `refused`: the network will never
 * accept it. `gone`: the message to change no longer exists. `loading`: the channel may be available shortly, and has not received the piece.
 */
export class SendFailure extends Error {
  readonly kind: "failed" | "refused" | "gone" | "loading";
  /** Milliseconds after which the network accepts a retry. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, kind: SendFailure["kind"], retryAfterMs?: number) {
    super(message);
    this.kind = kind;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Where a message goes. */
export type Addressed = Pick<OutboxText, "channel" | "accountId" | "to" | "threadId">;

/** @throws SendFailure only; an error of the channel is not a fault of its plugin, because networks fail */
export function sendPiece(
  message: Addressed & Pick<OutboxText, "extras">,
  { id, text: markdown, replyTo, buttons, poll }: Piece,
  media: OutboundMedia | undefined,
  sources: PieceSources,
): Promise<SendReceipt> {
  return callChannel(message, sources, async (channel, call) => {
    const { markup, replies, buttons: hasButtons } = channel.capabilities;
    const text = await rendered(markdown, markup);
    const receipt: SendReceipt | undefined = await channel.send({
      ...call,
      id,
      text,
      ...(media === undefined ? {} : { media }),
      ...(replyTo !== undefined && replies === true ? { replyTo } : {}),
      ...(buttons !== undefined && hasButtons === true ? { buttons } : {}),
      ...(poll === undefined ? {} : { poll }),
      ...(message.extras?.silent === true ? { silent: true } : {}),
    });
    return receipt ?? {}; // plain JavaScript may return nothing
  });
}

/** @throws SendFailure as `sendPiece`; `gone`: the message cannot be changed any more */
export function editPiece(
  text: Addressed,
  messageId: string,
  { text: markdown, buttons }: Pick<Piece, "text" | "buttons">,
  sources: PieceSources,
): Promise<SendReceipt> {
  return callChannel(text, sources, async (channel, call) => {
    const { markup, edits, buttons: hasButtons } = channel.capabilities;
    if (edits !== true || !channel.edit) throw new SendFailure("the channel cannot change messages", "gone");
    const shown = buttons !== undefined && hasButtons === true ? { buttons } : {};
    await channel.edit({ ...call, messageId, text: await rendered(markdown, markup), ...shown });
    return { messageId };
  });
}

/** Calls a function of a channel for one of its accounts, with a time limit. @throws SendFailure only */
export async function callChannel<R>(
  { to, threadId, ...addressed }: Addressed,
  sources: PieceSources,
  work: (channel: Channel, call: ChannelCall & ChannelPlace) => Promise<R>,
): Promise<R> {
  const { accounts, clock } = sources;
  const { contribution, account } = loaded(addressed, accounts);
  const { id: accountId, settings } = account;
  const inTime = new AnySignal(sources.signal);
  const cancel = clock.setTimeout(() => inTime.abort(), SEND_MS);
  const { signal } = inTime;
  const call = { accountId, settings, to, signal, ...(threadId === undefined ? {} : { threadId }) };
  try {
    return await accounts.call(contribution, (channel) => untilAborted(work(channel, call), signal));
  } catch (error) {
    throw error instanceof SendFailure ? error : failureOf(error, settings, signal);
  } finally {
    cancel();
    inTime.release();
  }
}

/** @throws SendFailure the channel or its transport is not loaded now, or has no such account */
export function loaded(
  { channel: id, accountId }: Pick<Addressed, "channel" | "accountId">,
  accounts: PieceSources["accounts"],
): Listed {
  const kind = accounts.isLoading() ? "loading" : "failed";
  const channel = accounts.channel(id);
  if (!channel) throw new SendFailure(`channel ${id} is not loaded; see: svc plugins list`, kind);
  const listed = accounts.account(channel, accountId);
  if (!listed) throw new SendFailure(`channel ${id} has no account "${accountId}"`, "failed");
  const absence = accounts.absence(listed);
  if (absence) throw new SendFailure(`${absence.message}; next: ${absence.next}`, kind);
  return listed;
}

function failureOf(error: unknown, settings: unknown, { aborted }: AbortSignal): SendFailure {
  if (aborted) return new SendFailure("the network did not respond in time", "failed");
  const told = toldError(error, secretsOf(settings));
  if (!isGatewayError(error) || error.code === "INTERNAL") return new SendFailure(told, "failed");
  if (error.code === "NOT_FOUND") return new SendFailure(told, "gone");
  return new SendFailure(told, error.code === "INVALID_REQUEST" ? "refused" : "failed", error.retryAfterMs);
}
