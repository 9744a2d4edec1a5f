/** Destination of the tool `message`, from its arguments and the chat of its caller. Pure. Spec: http/sessions-routing.md §8. */
import type { ToolAddress } from "@svc/sdk/tools";
import type { LastRoute } from "./addressing.ts";

/** Destination of a text; absent fields are unknown. `inheritedThread`: from the place, not from the arguments. */
export interface Target extends ToolAddress {
  readonly inheritedThread?: string;
}

/** The channel of the gateway's own clients; it accepts no texts. */
const INTERNAL = "webchat";
/** Stands for the last route of the session. */
const LAST = "last";

/**
 * Missing arguments come from the chat of the caller, then from the last route of its session: a recipient, an account
 * and a thread only from a place on the same channel, and a thread only with its recipient.
 * @param asked arguments of a model or a program; blank means absent
 * @param idOf channel id for a name
 */
export function targetOf(
  asked: ToolAddress,
  address: ToolAddress | undefined,
  last: LastRoute | undefined,
  idOf: (name: string) => string | undefined,
): Target {
  const wanted = said(asked.channel);
  const isLast = wanted?.toLowerCase() === LAST;
  const places = [isLast ? undefined : address, last].filter((place) => isPlace(place));
  const channel = isLast ? last?.channel : (wanted ?? places.map((place) => said(place.channel)).find(Boolean));
  const id = (name: string) => idOf(name) ?? name;
  // An address without a channel fits any channel.
  const same = (name: string | undefined) => name === undefined || (channel !== undefined && id(name) === id(channel));
  const place = places.find((known) => same(said(known.channel)) && (said(asked.to) !== undefined || said(known.to)));
  const to = said(asked.to) ?? said(place?.to);
  const accountId = said(asked.accountId) ?? said(place?.accountId);
  const threadId = said(asked.threadId);
  const inheritedThread = to === said(place?.to) && threadId === undefined ? said(place?.threadId) : undefined;
  return {
    ...(channel === undefined ? {} : { channel }),
    ...(to === undefined ? {} : { to }),
    ...(accountId === undefined ? {} : { accountId }),
    ...(threadId === undefined ? {} : { threadId }),
    ...(inheritedThread === undefined ? {} : { inheritedThread }),
  };
}

function isPlace(place: ToolAddress | undefined): place is ToolAddress {
  return place !== undefined && said(place.channel)?.toLowerCase() !== INTERNAL;
}

function said(text: string | undefined): string | undefined {
  const trimmed = text?.trim() ?? "";
  return trimmed === "" ? undefined : trimmed;
}
