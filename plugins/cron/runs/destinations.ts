/** Where the notifications of a run go. Pure. Spec: protocol/methods-cron.md §10. */
import type { CronDelivery } from "@svc/sdk/cron";
import type { CronConfig } from "../config.ts";
import type { Definition, Facts } from "../store/records.ts";

export interface Destination {
  readonly mode: "announce" | "webhook";
  /** Default `last`. */
  readonly channel?: string;
  /** Recipient, or the URL of a webhook. */
  readonly to?: string;
  readonly threadId?: string;
  readonly accountId?: string;
}

/** Destination of the result of a run; `undefined`: none. */
export function primaryOf(delivery: CronDelivery | undefined): Destination | undefined {
  if (!delivery || delivery.mode === "none") return undefined;
  const { mode, channel, to, threadId, accountId } = delivery;
  return { mode, ...given({ channel, to, threadId, accountId }) };
}

/** Where a failure is sent in addition to the destination of the result; `undefined`: nowhere else. */
export function failureDestination({ delivery }: Definition, config: CronConfig): Destination | undefined {
  const own = delivery?.failureDestination;
  const chosen = own ?? config.failureDestination;
  if (!chosen) return undefined;
  const { mode = "announce", channel, to, accountId } = chosen;
  const destination = { mode, ...given({ channel, to, accountId }) };
  const primary = primaryOf(delivery);
  return primary && sameDestination(primary, destination) ? undefined : destination;
}

function sameDestination(left: Destination, right: Destination): boolean {
  return (
    left.mode === right.mode &&
    (left.mode === "webhook" || (left.channel ?? "last") === (right.channel ?? "last")) &&
    left.to === right.to &&
    left.accountId === right.accountId
  );
}

/** Where an alert about errors in a row is sent now; `undefined`: no alert is due. @param facts after the run */
export function alertDestination(
  { delivery, failureAlert }: Definition,
  { consecutiveErrors = 0, lastFailureAlertAtMs }: Facts,
  config: CronConfig,
  now: number,
): Destination | undefined {
  if (failureAlert === false || (failureAlert === undefined && !config.failureAlert.enabled)) return undefined;
  if (delivery?.bestEffort === true) return undefined;
  const { after = config.failureAlert.after, cooldownMs = config.failureAlert.cooldownMs } = failureAlert ?? {};
  if (consecutiveErrors < after) return undefined;
  // A clock that was set back does not suppress alerts.
  const since = lastFailureAlertAtMs === undefined ? undefined : now - lastFailureAlertAtMs;
  if (since !== undefined && since >= 0 && since < cooldownMs) return undefined;
  const primary = primaryOf(delivery);
  const mode = failureAlert?.mode ?? config.failureAlert.mode ?? primary?.mode ?? "announce";
  const inherited = primary?.mode === mode ? primary : undefined;
  const accountId = failureAlert?.accountId ?? config.failureAlert.accountId ?? inherited?.accountId;
  return {
    mode,
    ...given({
      channel: failureAlert?.channel ?? inherited?.channel,
      to: failureAlert?.to ?? inherited?.to,
      threadId: failureAlert?.to === undefined ? inherited?.threadId : undefined,
      accountId,
    }),
  };
}

function given(fields: { readonly [K in "channel" | "to" | "threadId" | "accountId"]?: string | undefined }): Omit<
  Destination,
  "mode"
> {
  const some = Object.entries(fields).filter(([, value]) => value !== undefined && value !== "");
  return Object.fromEntries(some) as Omit<Destination, "mode">; // texts by these names
}

export function failureText({ name }: Definition, errors: number, error: string): string {
  const times = errors === 1 ? "failed" : `failed ${errors} times in a row`;
  return `Cron job "${name}" ${times}.\nLast error: ${error}`;
}
