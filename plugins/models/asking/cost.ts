/** Cost of answers. Pure. */
import type { Cost, ModelEvent, Prices, ResolvedModel, Usage } from "@svc/sdk/models";

const MILLION = 1_000_000;

/** The cost in US dollars, by kind of token. */
export function costOf(usage: Usage, price: Prices): Cost {
  const input = (usage.input * price.input) / MILLION;
  const output = (usage.output * price.output) / MILLION;
  const cacheRead = (usage.cacheRead * price.cacheRead) / MILLION;
  const cacheWrite = (usage.cacheWrite * price.cacheWrite) / MILLION;
  return { input, output, cacheRead, cacheWrite, total: input + output + cacheRead + cacheWrite };
}

/** Adds the cost to an event. Without usage or price, or if the provider reported a cost, the event is unchanged. */
export function priced(event: ModelEvent, model: Pick<ResolvedModel, "cost" | "costAbove">): ModelEvent {
  if (event.type !== "finish" || !event.usage || event.usage.cost || !model.cost) return event;
  const { usage } = event;
  const { costAbove } = model;
  const isLong = costAbove !== undefined && usage.input + usage.cacheRead + usage.cacheWrite > costAbove.tokens;
  return { ...event, usage: { ...usage, cost: costOf(usage, isLong ? costAbove : model.cost) } };
}
