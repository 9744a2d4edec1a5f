/** The `Webhooks` service: shows what the engine does, and serves actions to whoever runs them. */
import type { Principal } from "@svc/sdk";
import type { WebhookMappingInfo, WebhookMatch, WebhookProblem, Webhooks } from "@svc/sdk/webhooks";
import { redact } from "../config/redact.ts";
import type { Catalogue } from "./catalogue.ts";
import type { WebhookEngine } from "./engine.ts";
import { servedAction } from "./job.ts";
import { BEARER, type CompiledMapping } from "./mapping.ts";
import { resolveTransformsDir } from "./settings.ts";
import { tryOut } from "./trial.ts";
import type { Transforms } from "./transforms/contract.ts";

export interface ServiceOptions {
  readonly engine: WebhookEngine;
  readonly transforms: Transforms;
  transformsReady(): Promise<void>;
  /** Directory above all transforms. */
  readonly root: string;
  principalFor(mapping: string): Principal;
  /** Why the file says something else than what is in force, or `undefined`. */
  configProblem(): string | undefined;
}

export function createService(options: ServiceOptions): Webhooks {
  const { engine, transforms, transformsReady, root } = options;
  const directory = () => resolveTransformsDir(root, engine.catalogue().settings.transformsDir);

  async function check(): Promise<readonly WebhookProblem[]> {
    const { settings, problems } = engine.catalogue();
    const unused = options.configProblem();
    const refused: WebhookProblem[] =
      unused === undefined ? [] : [{ path: "(file)", message: unused, severity: "error" }];
    if (!settings.enabled) return refused;
    await transformsReady();
    await transforms.refresh();
    const found: WebhookProblem[] = [...refused, ...problems];
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
    action(id) {
      const found = engine.catalogue().actions.get(id);
      return found && servedAction(found, options.principalFor);
    },
  };
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
