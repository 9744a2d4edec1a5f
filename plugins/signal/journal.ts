/**
 * Received events that the gateway has not accepted yet, stored. The daemon forgets an event when it has sent it, so the
 * gateway stores it first, and submitted again after a crash.
 */
import { type Clock, messageOf, Type, unavailable } from "@svc/sdk";
import type { ChannelRun } from "@svc/sdk/channels";

/** An id that no daemon has: newer daemons then repeat everything they keep. */
const UNKNOWN_ID = "0";
/** Choice: milliseconds by which the clocks of this machine and of Signal may differ. */
const SKEW_MS = 10 * 60 * 1_000;

const Stored = Type.Object({
  /** Time of the first connection, epoch ms. */
  since: Type.Number(),
  /** The newest stored event. */
  lastEventId: Type.String(),
  /** Oldest first. */
  waiting: Type.Array(Type.Unknown()),
});

export type Journal = Awaited<ReturnType<typeof openJournal>>;

export async function openJournal({ openState }: Pick<ChannelRun, "openState">, clock: Pick<Clock, "now">) {
  const state = await openState(Stored);
  const stored = state.value;
  let { since, lastEventId, waiting } = stored ?? { since: clock.now(), lastEventId: UNKNOWN_ID, waiting: [] };
  /** Resolves when everything is on disk. @throws GatewayError `UNAVAILABLE`, e.g. the disk is full */
  const save = () =>
    state
      .write({ since, lastEventId, waiting })
      .catch((error: unknown) => unavailable(`messages of Signal cannot be stored: ${messageOf(error)}`));
  return {
    /** `undefined`: the account has never been connected, and old messages are of no interest. */
    lastEventId: stored?.lastEventId,
    /** Events that were not accepted before the last end of the account. */
    left: waiting,
    /** The daemon repeats a message from before the first connection. @param at time of Signal's server, epoch ms */
    isOld: (at: number) => lastEventId === UNKNOWN_ID && at < since - SKEW_MS,
    save,
    add(id: string | undefined, event: unknown): Promise<void> {
      lastEventId = id ?? lastEventId;
      waiting = [...waiting, event];
      return save();
    },
    /** The gateway has the event, or refused it for good. It is repeated after a crash that happens before `save`. */
    done(event: unknown): void {
      waiting = waiting.filter((one) => one !== event);
    },
  };
}
