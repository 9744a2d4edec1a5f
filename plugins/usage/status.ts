/** `usage.status`: queries every provider that has quotas. Spec: protocol/methods-usage.md §1. */
import { withDeadline } from "@svc/kit/time";
import { type Clock, isGatewayError, type Logger, type ResultOf, untilAborted } from "@svc/sdk";
import type { ModelQuotas, QuotaSource, usage } from "@svc/sdk/usage";

type Status = ResultOf<typeof usage.status>;
type Row = Status["providers"][number];

/** Spec: §1. */
const TIMEOUT_MS = 5_000;

export interface StatusOptions {
  readonly clock: Pick<Clock, "now" | "setTimeout">;
  readonly log: Logger;
}

/** The failure of a provider is part of its row, not an error. */
export async function quotaStatus(
  quotas: ModelQuotas | undefined,
  { clock, log }: StatusOptions,
  signal: AbortSignal,
): Promise<Status> {
  const sources = (await quotas?.sources(signal)) ?? [];
  const providers = await Promise.all(sources.map((source) => ask(source, { clock, log }, signal)));
  return { updatedAt: clock.now(), providers };
}

async function ask(source: QuotaSource, { clock, log }: StatusOptions, signal: AbortSignal): Promise<Row> {
  const { provider, displayName } = source;
  const late = () => `no response within ${TIMEOUT_MS / 1_000} s`;
  try {
    const { windows, plan } = await withDeadline({ ms: TIMEOUT_MS, clock, signals: [signal], late }, (until) =>
      untilAborted(source.ask(until), until),
    );
    const clamped = windows.map(({ label, usedPercent, resetAt }) => ({
      label,
      usedPercent: Math.min(Math.max(0, usedPercent), 100),
      ...(resetAt === undefined ? {} : { resetAt: Math.round(resetAt) }),
    }));
    return { provider, displayName, windows: clamped, ...(plan === undefined ? {} : { plan }) };
  } catch (error) {
    signal.throwIfAborted();
    if (isGatewayError(error)) return failed(source, error.message);
    log.warn({ err: error, provider }, "the quota of a model provider could not be read");
    return failed(source, "the quota could not be read; see the log");
  }
}

function failed({ provider, displayName }: QuotaSource, error: string): Row {
  return { provider, displayName, windows: [], error };
}
