/** Adds waiting messages to the active turn, between two of its requests to the model. Spec: http/sessions-routing.md §6. */
import { persist } from "@svc/kit/persist";
import { floorOf } from "@svc/sdk";
import { inputKeyOf, type Message, type UserMessage } from "@svc/sdk/models";
import type { Environment, Ties } from "./environment.ts";
import { type HistoryLimits, modelHistory } from "../history/history.ts";
import type { LiveRun } from "./live-runs.ts";
import { mergedOutcome } from "./outcome.ts";
import { requestOrigin } from "./queue-plan.ts";

/**
 * Stores the messages and, in the same transaction, ends their runs. Runs of `steer-backlog` keep waiting for their own
 * turn, as do runs whose message could not be stored.
 * @returns the messages as sent to the model
 */
export async function takeSteered(
  run: LiveRun,
  env: Environment,
  ties: Ties,
  limits: HistoryLimits,
): Promise<readonly Message[]> {
  const others = ties.steering();
  if (others.length === 0) return [];
  const { clock, services, store, log } = env;
  const now = clock.now();
  for (const other of others) other.phase = "ending";
  const messages = others.map((other) => userMessage(other, now));
  const ends = others
    .filter(({ queue }) => queue?.mode === "steer")
    .map((other) => ({ other, outcome: mergedOutcome(other, run, "steered", now) }));
  const changes = [store.owned(run.id), ...ends.map(({ outcome }) => store.ended(outcome, "accepted"))];
  try {
    await persist(() => services.sessions.append(run.request.sessionKey, messages, changes), {
      clock,
      signal: run.signal,
    });
  } catch (error) {
    for (const other of others) other.phase = "waiting";
    run.signal.throwIfAborted();
    log.warn({ err: error, runId: run.id }, "waiting messages could not be added to the run; they wait for its end");
    return [];
  }
  run.traces = undefined; // messages of people are not withdrawn
  for (const other of others) other.isSteered = true;
  for (const { other, outcome } of ends) ties.tookOver(other, outcome);
  for (const other of others) if (other.queue?.mode !== "steer") other.phase = "waiting";
  return modelHistory(messages, limits);
}

function userMessage({ request }: LiveRun, timestamp: number): UserMessage {
  const { runId, message, images = [] } = request;
  const text = message === "" ? [] : [{ type: "text" as const, text: message }];
  const origin = floorOf([requestOrigin(request)]);
  const content = [...text, ...images];
  return { role: "user", content, timestamp, ...(origin && { origin }), idempotencyKey: inputKeyOf(runId) };
}
