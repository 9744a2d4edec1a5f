/** The methods `cron.*`, for clients and for the tool. */
import { type Clock, invalidRequest, type Origin, type ParamsOf, type ResultOf } from "@svc/sdk";
import type { cron } from "@svc/sdk/cron";
import type { Storage } from "@svc/sdk/storage";
import type { Jobs } from "./jobs.ts";
import { listJobs, listRuns } from "../store/queries.ts";
import type { CronStore } from "../store/store.ts";
import { changeFrom, draftFrom } from "./input.ts";

type C = typeof cron;

export interface MethodSources {
  readonly jobs: Jobs;
  readonly store: CronStore;
  readonly storage: Storage;
  readonly clock: Pick<Clock, "now">;
  readonly isEnabled: boolean;
  readonly defaultAgentId: () => string;
}

export function cronMethods({ jobs, store, storage, clock, isEnabled, defaultAgentId }: MethodSources) {
  return {
    list: (params: ParamsOf<C["list"]>) => listJobs({ storage, defaultAgentId: defaultAgentId() }, params),
    runs: (params: ParamsOf<C["runs"]>) => listRuns({ storage, defaultAgentId: defaultAgentId() }, params),
    get: (params: ParamsOf<C["get"]>) => jobs.get(idOf("cron.get", params)),
    add: (params: ParamsOf<C["add"]>, origin?: Origin) => jobs.add(draftFrom(params, clock.now()), origin),
    async update(params: ParamsOf<C["update"]>, origin?: Origin): Promise<ResultOf<C["update"]>> {
      const { id, patch } = changeFrom(params);
      return jobs.update(id, patch, origin);
    },
    async status(): Promise<ResultOf<C["status"]>> {
      const [count, nextWakeAt] = await Promise.all([store.count(), store.nextWake()]);
      return { enabled: isEnabled, storePath: store.location, jobs: count, nextWakeAtMs: nextWakeAt ?? null };
    },
    async remove(params: ParamsOf<C["remove"]>): Promise<ResultOf<C["remove"]>> {
      return { ok: true, removed: await jobs.remove(idOf("cron.remove", params)) };
    },
    run: (params: ParamsOf<C["run"]>) => jobs.run(idOf("cron.run", params), params.mode ?? "force"),
    async cancel(params: ParamsOf<C["cancel"]>): Promise<ResultOf<C["cancel"]>> {
      return { ok: true, cancelled: await jobs.cancel(idOf("cron.cancel", params)) };
    },
  };
}

/** @throws GatewayError `INVALID_REQUEST` unless exactly one of the two is given */
function idOf(method: string, { id, jobId }: { readonly id?: string; readonly jobId?: string }): string {
  if (id !== undefined && jobId !== undefined)
    return invalidRequest(`invalid ${method} params: give id or jobId, not both`);
  return id ?? jobId ?? invalidRequest(`invalid ${method} params: id or jobId is required; see cron.list`);
}
