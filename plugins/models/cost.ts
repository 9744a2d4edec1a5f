/** What an answer cost. Pure. */
import type { Cost, ModelEvent, ResolvedModel, Usage } from "@svc/sdk/models";

const MILLION = 1_000_000;

/** US dollars, by kind of token. @param price for a million of each */
export function costOf(usage: Usage, price: NonNullable<ResolvedModel["cost"]>): Cost {
  const input = (usage.input * price.input) / MILLION;
  const output = (usage.output * price.output) / MILLION;
  const cacheRead = (usage.cacheRead * price.cacheRead) / MILLION;
  const cacheWrite = (usage.cacheWrite * price.cacheWrite) / MILLION;
  return { input, output, cacheRead, cacheWrite, total: input + output + cacheRead + cacheWrite };
}

/** The event with its cost; as it is where nothing was counted, the price is unknown, or the provider told a cost. */
export function priced(event: ModelEvent, { cost: price }: Pick<ResolvedModel, "cost">): ModelEvent {
  if (event.type !== "finish" || !event.usage || event.usage.cost || !price) return event;
  return { ...event, usage: { ...event.usage, cost: costOf(event.usage, price) } };
}
