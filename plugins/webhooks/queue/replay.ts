/** Accepts a failed webhook again, once. */
import { randomUUID } from "node:crypto";
import { type Clock, GatewayError, isGatewayError, notFound } from "@svc/sdk";
import type { WebhookRun } from "@svc/sdk/webhooks";
import type { RunStore } from "./run-store.ts";

/** @throws GatewayError `NOT_FOUND`; `INVALID_REQUEST` the run has not failed; `CONFLICT` it was already replayed */
export async function replay(runId: string, store: RunStore, clock: Pick<Clock, "now">): Promise<WebhookRun> {
  const { run, job, reply } = (await store.find(runId)) ?? notFound(`no webhook run ${runId}; see: svc hooks runs`);
  if (run.status !== "failed" || !job)
    throw new GatewayError("INVALID_REQUEST", `run ${runId} is ${run.status}; only failed runs can be replayed`);
  if (run.replayedAs) throw alreadyReplayed(run);
  const { mapping, action, sessionKey } = run;
  const { params, wrapped, contentSource } = job;
  const prepared = { params, reply, ...(sessionKey === undefined ? {} : { sessionKey }) };
  const again = { runId: randomUUID(), mapping, action, prepared, wrapped, contentSource, acceptedAt: clock.now() };
  await store.replay({ ...again, replayOf: runId }).catch((error: unknown) => {
    throw isGatewayError(error) && error.code === "CONFLICT" ? alreadyReplayed(run) : error;
  });
  return (await store.find(again.runId))?.run ?? notFound(`run ${again.runId} was deleted`);
}

function alreadyReplayed({ runId, replayedAs }: WebhookRun): GatewayError {
  const by = replayedAs === undefined ? "" : ` as ${replayedAs}`;
  return new GatewayError(
    "CONFLICT",
    `run ${runId} was already replayed${by}; if that run failed too, replay it instead`,
  );
}
