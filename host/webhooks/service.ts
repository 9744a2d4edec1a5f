/** The `Webhooks` service: reports the mappings and problems of the engine, and provides actions to the plugin that runs them. */
import type { Principal } from "@svc/sdk";
import type { WebhookMappingRow, WebhookMatch, WebhookProblem, Webhooks } from "@svc/sdk/webhooks";
import { MATCH, redact } from "../config/redact.ts";
import type { Catalogue } from "./catalogue.ts";
import type { WebhookEngine } from "./engine.ts";
import { servedAction } from "./job.ts";
import { BEARER, type CompiledMapping } from "./mapping.ts";
import { tryOut } from "./trial.ts";

export interface ServiceOptions {
  readonly engine: WebhookEngine;
  principalFor(mapping: string): Principal;
  /** Why the configuration file differs from the configuration in force, or `undefined`. */
  configProblem(): string | undefined;
}

export function createService(options: ServiceOptions): Webhooks {
  const { engine } = options;

  function check(): readonly WebhookProblem[] {
    const { settings, problems } = engine.catalogue();
    const unused = options.configProblem();
    const refused: WebhookProblem[] =
      unused === undefined ? [] : [{ path: "(file)", message: unused, severity: "error" }];
    return settings.enabled ? [...refused, ...problems] : refused;
  }

  function list(): readonly WebhookMappingRow[] {
    const catalogue = engine.catalogue();
    return [...directPaths(catalogue), ...catalogue.mappings.map((mapping) => mappingRow(mapping, catalogue))];
  }

  return {
    get enabled() {
      return engine.catalogue().settings.enabled;
    },
    get path() {
      return engine.catalogue().settings.path;
    },
    get transforms() {
      return engine.catalogue().transforms;
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

function directPaths({ actions, settings }: Catalogue): WebhookMappingRow[] {
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

function mappingRow(mapping: CompiledMapping, catalogue: Catalogue): WebhookMappingRow {
  const { id, origin, enabled, path, match, transform, verify, place } = mapping;
  const action = mapping.action ?? catalogue.defaultAction;
  const owner = action === undefined ? undefined : catalogue.actions.get(action)?.owner.id;
  return {
    id,
    origin,
    enabled,
    path: path === undefined ? "*" : `${catalogue.settings.path}/${path}`,
    ...(match ? { match: redact(match, {}, new Set(), MATCH) as WebhookMatch } : {}), // the same shape
    action: action ?? "(none)",
    ...(owner === undefined ? {} : { actionOwner: owner }),
    verify: verify.type,
    ...(typeof transform === "object" ? { transform } : {}),
    problems: catalogue.problems.filter((problem) => problem.path === place || problem.path.startsWith(`${place}.`)),
  };
}
