/** `usage.cost`: cached sums by day. Spec: protocol/methods-usage.md §3. */
import type { Clock, ResultOf } from "@svc/sdk";
import type { usage, UsageRecords } from "@svc/sdk/usage";
import { answerDays } from "./cost-range.ts";
import type { UsageRange } from "./range.ts";
import { answered, byDay, totalsOf } from "./summary.ts";

type Cost = ResultOf<typeof usage.cost>;

/** Spec: §3 "Cached". */
const MAX_AGE_MS = 30_000;
/** Choice: most cached ranges. */
const MAX_RANGES = 32;

interface Kept {
  readonly at: number;
  readonly cost: Promise<Cost>;
}

/** Costs by agent and range. Concurrent calls share one read; a failed read is not cached. */
export class Costs {
  readonly #clock: Pick<Clock, "now" | "elapsed">;
  readonly #kept = new Map<string, Kept>();

  constructor(clock: Pick<Clock, "now" | "elapsed">) {
    this.#clock = clock;
  }

  async of(records: Pick<UsageRecords, "ofAgent">, agentId: string, range: UsageRange): Promise<Cost> {
    const key = JSON.stringify([agentId, range.from, range.to, range.zone]);
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

  async #read(records: Pick<UsageRecords, "ofAgent">, agentId: string, range: UsageRange): Promise<Cost> {
    const sums = answered(await records.ofAgent(agentId, range));
    const daily = byDay(sums).map(([date, some]) => ({ date, ...totalsOf(some) }));
    return {
      updatedAt: this.#clock.now(),
      days: answerDays(range),
      // Spec: no zero rows. Days without known tokens count in the totals only.
      daily: daily.filter(({ totalTokens }) => totalTokens > 0),
      totals: totalsOf(sums),
    };
  }
}
