/** Sends one piece of a text through its channel. */
import { AnySignal } from "@svc/kit/time";
import { type Clock, ERRORS, isGatewayError, untilAborted } from "@svc/sdk";
import type { SendReceipt } from "@svc/sdk/channels";
import type { ChannelAccounts } from "../accounts/channel-accounts.ts";
import { secretsOf, toldError } from "../accounts/hidden.ts";
import type { OutboxText } from "./outbox-store.ts";

/** Choice: milliseconds one piece may take. */
export const SEND_MS = 60_000;

export interface PieceSources {
  readonly accounts: Pick<ChannelAccounts, "channel" | "account" | "call" | "isLoading">;
  readonly clock: Pick<Clock, "setTimeout">;
  /** Aborts when the time of a stop is over. */
  readonly signal: AbortSignal;
}

/**
 * Why a piece was not sent. `failed`: the network did not accept it, or did not confirm it. `refused`: the network will never
 * accept it. `loading`: the channel may be available shortly, and has not received the piece.
 */
export class SendFailure extends Error {
  readonly kind: "failed" | "refused" | "loading";

  constructor(message: string, kind: SendFailure["kind"]) {
    super(message);
    this.kind = kind;
  }
}

/** @throws SendFailure only; an error of the channel is not a fault of its plugin, because networks fail */
export async function sendPiece(text: OutboxText, piece: string, sources: PieceSources): Promise<SendReceipt> {
  const { accounts, clock } = sources;
  const contribution = accounts.channel(text.channel);
  if (!contribution) {
    const kind = accounts.isLoading() ? "loading" : "failed";
    throw new SendFailure(`channel ${text.channel} is not loaded; see: svc plugins list`, kind);
  }
  const listed = accounts.account(contribution, text.accountId);
  if (!listed) throw new SendFailure(`channel ${text.channel} has no account "${text.accountId}"`, "failed");
  const { id: accountId, settings } = listed.account;
  const thread = text.threadId === undefined ? {} : { threadId: text.threadId };
  const inTime = new AnySignal(sources.signal);
  const cancel = clock.setTimeout(() => inTime.abort(), SEND_MS);
  const { signal } = inTime;
  try {
    const receipt = await accounts.call(contribution, (channel) =>
      untilAborted(channel.send({ accountId, settings, id: "", to: text.to, text: piece, signal, ...thread }), signal),
    );
    listed.run?.sent();
    return receipt ?? {};
  } catch (error) {
    const told = signal.aborted ? "the network did not respond in time" : toldError(error, secretsOf(settings));
    const isRefused = isGatewayError(error) && !ERRORS[error.code].retry && error.code !== "INTERNAL";
    throw new SendFailure(told, isRefused ? "refused" : "failed");
  } finally {
    cancel();
    inTime.release();
  }
}
