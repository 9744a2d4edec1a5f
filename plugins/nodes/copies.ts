/** Forwards events of a session to the nodes that subscribed to it. Spec: protocol/events.md §8. */
import type { Clock, EventSpec, PluginGateway } from "@svc/sdk";
import { agentEvent, type RunEvent } from "@svc/sdk/agents";
import type { Subscriptions } from "./subscriptions.ts";
import { fieldsOf } from "./values.ts";

/**
 * Must be called in `setup`.
 * @param ofSession events whose payload has a session key: for subscribers of exactly that key
 * @param ofAll events for every connection with a subscription
 */
export function copySubscribed(
  { hooks, forward }: Pick<PluginGateway, "hooks" | "forward">,
  subscriptions: Subscriptions,
  ofSession: readonly EventSpec[],
  ofAll: readonly EventSpec[],
): void {
  const copy = (event: EventSpec, receivers: (payload: unknown) => readonly string[]) =>
    hooks.eventPublished.for(event.name).tap(({ payload, isTargeted }) => {
      if (!subscriptions.any) return; // the common case; this runs for every piece of a stream
      if (isTargeted) return; // only for its receivers, e.g. tool events of a run
      const connections = receivers(payload);
      if (connections.length > 0) forward(event, payload, connections);
    });
  for (const event of ofSession) copy(event, (payload) => subscriptions.of(fieldsOf(payload)["sessionKey"]));
  for (const event of ofAll) copy(event, () => subscriptions.all());
}

/** Choice: milliseconds for which the verbose level of a session is cached for a run. */
export const LEVEL_MS = 600_000;
/** Choice: maximum cached levels, since the end of a run may go unreported. */
export const MOST_LEVELS = 1_000;

/**
 * Tool events are published only to the participants of a run. Subscribers of its session get them if the session has
 * `verboseLevel` `on` or `full`; results only with `full`. Spec: events.md §3. Must be called in `setup`.
 */
export function copyTools(
  { hooks, forward }: Pick<PluginGateway, "hooks" | "forward">,
  subscriptions: Subscriptions,
  levelOf: (sessionKey: string) => Promise<string | undefined>,
  clock: Pick<Clock, "elapsed">,
): void {
  /** By run, oldest first. `until`: elapsed ms. */
  const levels = new Map<string, { readonly level: Promise<string | undefined>; readonly until: number }>();
  const levelFor = (runId: string, sessionKey: string) => {
    const now = clock.elapsed();
    for (const [id, { until }] of levels) {
      if (until > now) break;
      levels.delete(id);
    }
    const known = levels.get(runId);
    if (known) return known.level;
    const level = levelOf(sessionKey).catch(() => undefined);
    const [oldest] = levels.keys();
    if (levels.size >= MOST_LEVELS && oldest !== undefined) levels.delete(oldest);
    levels.set(runId, { level, until: now + LEVEL_MS });
    return level;
  };
  hooks.runEvent.tap(({ outcome, ...event }) => {
    if (outcome) return void levels.delete(event.runId);
    if (event.stream !== "tool" || subscriptions.of(event.sessionKey).length === 0) return;
    void levelFor(event.runId, event.sessionKey).then((verbose) => {
      if (verbose !== "on" && verbose !== "full") return;
      forward(agentEvent, verbose === "full" ? event : withoutResult(event), subscriptions.of(event.sessionKey));
    });
  });
}

function withoutResult(event: Omit<RunEvent, "outcome">): Omit<RunEvent, "outcome"> {
  const { result: _result, partialResult: _partial, ...data } = event.data;
  return { ...event, data };
}
