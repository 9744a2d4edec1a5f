/** The `Webhooks` service: shows and steers what the engine does. */
import { randomUUID } from "node:crypto";
import { type Clock, GatewayError, isGatewayError, notFound, type Principal } from "@svc/sdk";
import type { WebhookMappingInfo, WebhookMatch, WebhookProblem, WebhookRun, Webhooks } from "@svc/sdk/webhooks";
import { redact } from "../config/redact.ts";
import type { Catalogue } from "./catalogue.ts";
import { prepareDirectory } from "./directory.ts";
import type { WebhookEngine } from "./engine.ts";
import { BEARER, type CompiledMapping } from "./mapping.ts";
import type { WebhookQueue } from "./queue.ts";
import type { RunStore } from "./run-store.ts";
import { resolveTransformsDir } from "./settings.ts";
import { tryOut } from "./trial.ts";
import type { Transforms } from "./transforms/contract.ts";

export interface ServiceOptions {
  readonly engine: WebhookEngine;
  readonly store: RunStore;
  readonly queue: WebhookQueue;
  readonly transforms: Transforms;
  transformsReady(): Promise<void>;
  /** Directory above all transforms. */
  readonly root: string;
  readonly clock: Clock;
  principalFor(mapping: string): Principal;
  /** Why the file says something else than what is in force, or `undefined`. */
  configProblem(): string | undefined;
  /** Why nothing can be recorded, or `undefined`. */
  storageProblem(): string | undefined;
}

export function createService(options: ServiceOptions): Webhooks {
  const { engine, store, queue, transforms, transformsReady, root, clock } = options;
  const directory = () => resolveTransformsDir(root, engine.catalogue().settings.transformsDir);

  async function check(): Promise<readonly WebhookProblem[]> {
    const { settings, problems } = engine.catalogue();
    const unused = options.configProblem();
    const refused: WebhookProblem[] =
      unused === undefined ? [] : [{ path: "(file)", message: unused, severity: "error" }];
    if (!settings.enabled) return refused;
    await transformsReady();
    await transforms.refresh();
    const storage = options.storageProblem();
    const found: WebhookProblem[] = [...refused, ...problems];
    if (storage !== undefined) found.push({ path: "plugins.use", message: storage, severity: "error" });
    for (const { path, message } of transforms.problems()) found.push({ path, message, severity: "error" });
    return [...found, ...list().flatMap(transformProblems)];
  }

  function list(): readonly WebhookMappingInfo[] {
    const catalogue = engine.catalogue();
    return [
      ...directPaths(catalogue),
      ...catalogue.mappings.map((mapping) => mappingInfo(mapping, catalogue, transforms)),
    ];
  }

  return {
    get enabled() {
      return engine.catalogue().settings.enabled;
    },
    get path() {
      return engine.catalogue().settings.path;
    },
    get transformsDir() {
      return directory();
    },
    list,
    check,
    try: (trial) => tryOut(trial, engine, options.principalFor),
    runs: async (filter = {}) => (await store.list(filter)).map(({ run }) => run),
    run: (runId) => engine.run(runId),
    async replay(runId) {
      const found = (await store.find(runId)) ?? notFound(`no webhook run ${runId}; see: svc hooks runs`);
      const { run, job, reply } = found;
      if (run.status !== "failed" || !job)
        throw new GatewayError("INVALID_REQUEST", `run ${runId} is ${run.status}; only a failed one can be replayed`);
      if (run.replayedAs) throw alreadyReplayed(run);
      const { mapping, action, sessionKey } = run;
      const again = { runId: randomUUID(), mapping, action, status: "queued", job, reply, sessionKey } as const;
      await store.replay({ ...again, acceptedAt: clock.now(), replayOf: runId }).catch((error: unknown) => {
        throw isGatewayError(error) && error.code === "CONFLICT" ? alreadyReplayed(run) : error;
      });
      queue.accepted(action);
      const created = await store.find(again.runId);
      return created?.run ?? notFound(`run ${again.runId} is gone`);
    },
    prepareDirectory: () => prepareDirectory(directory()),
  };
}

function alreadyReplayed({ runId, replayedAs }: WebhookRun): GatewayError {
  const by = replayedAs === undefined ? "" : ` as ${replayedAs}`;
  return new GatewayError("CONFLICT", `run ${runId} was replayed already${by}; replay that one if it failed, too`);
}

function directPaths({ actions, settings }: Catalogue): WebhookMappingInfo[] {
  return [...actions.values()]
    .filter(({ value }) => value.direct)
    .map(({ id, owner }) => ({
      id,
      origin: "action",
      enabled: !settings.disabled.has(id),
      path: `${settings.path}/${id}`,
      action: id,
      actionOwner: owner.id,
      verify: BEARER,
      problems: [],
    }));
}

function mappingInfo(mapping: CompiledMapping, catalogue: Catalogue, transforms: Transforms): WebhookMappingInfo {
  const { id, origin, enabled, path, match, transform, verify, place } = mapping;
  const action = mapping.action ?? catalogue.defaultAction;
  const owner = action === undefined ? undefined : catalogue.actions.get(action)?.owner.id;
  return {
    id,
    origin,
    enabled,
    path: path === undefined ? "*" : `${catalogue.settings.path}/${path}`,
    ...(match ? { match: redact(match, {}) as WebhookMatch } : {}), // the same shape
    action: action ?? "(none)",
    ...(owner === undefined ? {} : { actionOwner: owner }),
    verify: verify.type,
    ...(typeof transform === "object" ? { transform: transforms.info(transform) } : {}),
    problems: catalogue.problems.filter((problem) => problem.path === place || problem.path.startsWith(`${place}.`)),
  };
}

function transformProblems({ transform }: WebhookMappingInfo): WebhookProblem[] {
  if (!transform || transform.state === "live") return [];
  const message =
    transform.problem ?? (transform.state === "missing" ? "there is no such file; put it there" : "it does not work");
  return [{ path: transform.module, message, severity: "error" }];
}
