/** Reactions to messages, and changes of sent ones. */
import { invalidRequest, unavailable } from "@svc/sdk";
import { callChannel, editPiece, type PieceSources, SendFailure } from "./piece.ts";
import type { CheckedDestination } from "./sending.ts";

/** A message in a chat. */
export interface MessagePlace {
  readonly destination: CheckedDestination;
  readonly threadId: string | undefined;
  /** The network's id of the message. */
  readonly messageId: string;
}

/** A reaction that the channel can show. @throws GatewayError `INVALID_REQUEST` */
export function reactionOf(emoji: string, { contribution: { id, value } }: CheckedDestination): string {
  if (value.capabilities.reactions !== true) invalidRequest(`channel ${id} has no reactions`);
  return emoji.trim() === "" ? invalidRequest("emoji required") : emoji.trim();
}

/** @param emoji by `reactionOf` @throws GatewayError `INVALID_REQUEST`: the network refuses it; `UNAVAILABLE` */
export async function react(
  place: MessagePlace,
  { emoji, remove }: { readonly emoji: string; readonly remove: boolean },
  sources: PieceSources,
): Promise<void> {
  const { messageId } = place;
  await callChannel(addressOf(place), sources, async (channel, call) =>
    channel.react?.({ ...call, messageId, emoji, remove }),
  ).catch(refused);
}

/** @throws GatewayError `INVALID_REQUEST`: the channel cannot change messages, or not to this text */
export function checkEdit(text: string, { contribution: { id, value } }: CheckedDestination): void {
  const { edits, maxTextChars } = value.capabilities;
  if (edits !== true) invalidRequest(`channel ${id} cannot change messages; send another one`);
  if (text.length > maxTextChars) invalidRequest(`a message on ${id} has at most ${maxTextChars} characters`);
}

/** @param text by `checkEdit` @throws GatewayError `INVALID_REQUEST`: the network refuses it; `UNAVAILABLE` */
export async function edit(place: MessagePlace, text: string, sources: PieceSources): Promise<void> {
  await editPiece(addressOf(place), place.messageId, { text }, sources).catch(refused);
}

function addressOf({ destination: { contribution, accountId, to }, threadId }: MessagePlace) {
  return { channel: contribution.id, accountId, to, ...(threadId === undefined ? {} : { threadId }) };
}

function refused(error: unknown): never {
  if (!(error instanceof SendFailure)) throw error;
  return error.kind === "refused" || error.kind === "gone" ? invalidRequest(error.message) : unavailable(error.message);
}
