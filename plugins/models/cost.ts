/** Cost of answers. Pure. */
import type { Cost, ModelEvent, ResolvedModel, Usage } from "@svc/sdk/models";

const MILLION = 1_000_000;

/** The cost in US dollars, by kind of token. @param price US dollars per million tokens */
export function costOf(usage: Usage, price: NonNullable<ResolvedModel["cost"]>): Cost {
  const input = (usage.input * price.input) / MILLION;
  const output = (usage.output * price.output) / MILLION;
  const cacheRead = (usage.cacheRead * price.cacheRead) / MILLION;
  const cacheWrite = (usage.cacheWrite * price.cacheWrite) / MILLION;
  return { input, output, cacheRead, cacheWrite, total: input + output + cacheRead + cacheWrite };
}

/** Adds the cost to an event. Without usage or price, or if the provider reported a cost, the event is unchanged. */
export function priced(event: ModelEvent, { cost: price }: Pick<ResolvedModel, "cost">): ModelEvent {
  if (event.type !== "finish" || !event.usage || event.usage.cost || !price) return event;
  return { ...event, usage: { ...event.usage, cost: costOf(event.usage, price) } };
}
