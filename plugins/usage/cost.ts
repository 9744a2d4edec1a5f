/** `usage.cost`: sums of days, kept for a while. Spec: protocol/methods-usage.md §3. */
import type { UsageRange } from "@svc/kit/time";
import type { Clock, ResultOf } from "@svc/sdk";
import type { usage, UsageDay, UsageRecords } from "@svc/sdk/usage";
import { toldDays } from "./cost-range.ts";

type Cost = ResultOf<typeof usage.cost>;
type Totals = Cost["totals"];

/** Spec: §3 "Cached". */
const MAX_AGE_MS = 30_000;
/** Choice: ranges that are kept. */
const MAX_RANGES = 32;

interface Kept {
  readonly at: number;
  readonly cost: Promise<Cost>;
}

/** Sums of an agent and a range; questions at the same time share one read, and one that failed is asked again. */
export class Costs {
  readonly #clock: Pick<Clock, "now" | "elapsed">;
  readonly #kept = new Map<string, Kept>();

  constructor(clock: Pick<Clock, "now" | "elapsed">) {
    this.#clock = clock;
  }

  async of(records: UsageRecords, agentId: string, range: UsageRange): Promise<Cost> {
    const key = JSON.stringify([agentId, range.from, range.to]);
    const known = this.#kept.get(key);
    if (known && this.#clock.elapsed() - known.at < MAX_AGE_MS) return known.cost;
    const cost = this.#read(records, agentId, range);
    this.#kept.delete(key);
    this.#kept.set(key, { at: this.#clock.elapsed(), cost });
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MAX_RANGES && oldest !== undefined) this.#kept.delete(oldest);
    try {
      return await cost;
    } catch (error) {
      if (this.#kept.get(key)?.cost === cost) this.#kept.delete(key);
      throw error;
    }
  }

  async #read(records: UsageRecords, agentId: string, range: UsageRange): Promise<Cost> {
    const days = await records.daily(agentId, range);
    return {
      updatedAt: this.#clock.now(),
      days: toldDays(range),
      // Spec: no zero rows. Days of which nothing is known count in the totals.
      daily: days.filter(({ totalTokens }) => totalTokens > 0).map((day) => ({ ...day })),
      totals: sumOf(days),
    };
  }
}

const NOTHING: Totals = {
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: 0,
  totalCost: 0,
  inputCost: 0,
  outputCost: 0,
  cacheReadCost: 0,
  cacheWriteCost: 0,
  missingCostEntries: 0,
};

/** All days together. */
export function sumOf(days: readonly UsageDay[]): Totals {
  const fields = [...Object.keys(NOTHING), "missingUsageEntries"] as (keyof Totals)[]; // keys of that object
  const sums = fields.map((field) => [field, days.reduce((sum, day) => sum + (day[field] ?? 0), 0)] as const);
  const told = sums.filter(([field, sum]) => field in NOTHING || sum > 0);
  return { ...NOTHING, ...Object.fromEntries(told) };
}
