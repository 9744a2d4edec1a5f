/** Copies of what happens in a session for the nodes that follow it. Spec: protocol/events.md §8. */
import type { Clock, EventSpec, PluginGateway } from "@svc/sdk";
import { agentEvent, type RunEvent } from "@svc/sdk/agents";
import type { Subscriptions } from "./subscriptions.ts";
import { fieldsOf } from "./values.ts";

/**
 * To be called in `setup`.
 * @param ofSession events whose payload has the key of their session: for those who follow exactly that key
 * @param ofAll events for whoever follows anything
 */
export function copySubscribed(
  { hooks, forward }: Pick<PluginGateway, "hooks" | "forward">,
  subscriptions: Subscriptions,
  ofSession: readonly EventSpec[],
  ofAll: readonly EventSpec[],
): void {
  const copy = (event: EventSpec, receivers: (payload: unknown) => readonly string[]) =>
    hooks.eventPublished.for(event.name).tap(({ payload, isTargeted }) => {
      if (!subscriptions.any) return; // nearly always: every piece of a stream comes by here
      if (isTargeted) return; // for those it was sent to, e.g. the tools of a run
      const connections = receivers(payload);
      if (connections.length > 0) forward(event, payload, connections);
    });
  for (const event of ofSession) copy(event, (payload) => subscriptions.of(fieldsOf(payload)["sessionKey"]));
  for (const event of ofAll) copy(event, () => subscriptions.all());
}

/** Choice: milliseconds the level of a session counts for a run before it is read again. */
export const LEVEL_MS = 600_000;
/** Choice: runs whose levels are kept. A run may go without an end that is told. */
export const MOST_LEVELS = 1_000;

/**
 * Steps of tools are published to who takes part in a run only; those who follow its session get them where its entry says
 * `verboseLevel` `on` or `full`, with results for `full`. Spec: events.md §3. To be called in `setup`.
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
