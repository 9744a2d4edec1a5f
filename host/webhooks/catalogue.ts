/** The webhooks in force: configured mappings and those of presets, in order, with the actions and verifiers of plugins. */
import {
  type PlannedTransform,
  type TransformPlan,
  type WebhookAction as Action,
  WebhookAction,
  type WebhookMapping,
  WebhookPreset,
  type WebhookProblem,
  type WebhookVerifier as Verifier,
  WebhookVerifier,
} from "@svc/sdk/webhooks";
import type { Issue } from "../config/file.ts";
import type { Absence } from "../kernel/absent.ts";
import type { LiveTables } from "../kernel/kind.ts";
import { routes } from "../kernel/kinds/routes.ts";
import { contributionsTo, type LiveContribution } from "../kernel/kinds/contributions.ts";
import { actionIssues, BEARER, type CompiledMapping, compileMapping } from "./mapping.ts";
import { type WebhookSettings, weakToken } from "./settings.ts";

export interface Catalogue {
  readonly settings: WebhookSettings;
  /** In the order they are tried, disabled ones included. */
  readonly mappings: readonly CompiledMapping[];
  readonly actions: ReadonlyMap<string, LiveContribution<Action>>;
  readonly defaultAction: string | undefined;
  readonly verifiers: ReadonlyMap<string, LiveContribution<Verifier>>;
  readonly transforms: TransformPlan;
  /** Problems with the plugins that run now. */
  readonly problems: readonly WebhookProblem[];
  /** Problems that only another configuration or another plugin can fix; a configuration with any is rejected. */
  readonly refusals: readonly Issue[];
}

/** About the plugin that has a contribution but does not run; `undefined`: no such plugin is known. */
export type FindAbsent = (what: string, point: string, id: string) => Absence | undefined;

/** Issues by their effect on loading the configuration. */
interface Findings {
  /** The configuration cannot take effect. */
  readonly refusals: Issue[];
  /** The configuration takes effect; until a plugin is running, requests get an error. */
  readonly waiting: Issue[];
}

export function buildCatalogue(settings: WebhookSettings, live: LiveTables, findAbsent: FindAbsent): Catalogue {
  const actions = byId(contributionsTo<Action>(live, WebhookAction));
  const verifiers = byId(contributionsTo<Verifier>(live, WebhookVerifier));
  const presets = byId(contributionsTo(live, WebhookPreset));
  const findings: Findings = { refusals: [], waiting: [] };
  const ids = new Set(settings.mappings.map(({ id }) => id));
  const fromPresets = settings.presets.flatMap((name) => {
    const preset = presets.get(name);
    if (preset) return presetMappings(name, preset.value.mappings, settings.disabled, ids, findings.refusals);
    const known = [...presets.keys()].sort().join(", ") || "none";
    const message = `no running plugin has the preset "${name}"; there are: ${known}`;
    findings.refusals.push({
      path: "hooks.presets",
      message: findAbsent("preset", WebhookPreset.id, name)?.message ?? message,
    });
    return [];
  });
  const mappings = [...settings.mappings, ...fromPresets];
  const defaultAction = [...actions.values()].find(({ value }) => value.isDefault)?.id;
  const around = { actions, verifiers, defaultAction, findAbsent };
  for (const mapping of mappings) judge(mapping, around, findings);
  findings.refusals.push(...pathIssues(settings, live));
  const issues = settings.enabled ? [...findings.refusals, ...findings.waiting] : [];
  const weak = settings.enabled ? weakToken(settings.token) : undefined;
  return {
    settings,
    mappings,
    actions,
    defaultAction,
    verifiers,
    transforms: { ...settings.transforms, refs: settings.enabled ? mappings.flatMap(plannedTransform) : [] },
    problems: [
      ...issues.map((issue): WebhookProblem => ({ ...issue, severity: "error" })),
      ...(weak === undefined ? [] : [{ path: "hooks.token", message: weak, severity: "warning" as const }]),
    ],
    refusals: settings.enabled ? findings.refusals : [],
  };
}

/** Choice: webhooks precede routes, so with a shared first segment they would take requests of routes, or seem to. */
function pathIssues({ path }: WebhookSettings, live: LiveTables): readonly Issue[] {
  const first = (one: string) => one.split("/", 2)[1];
  const taken = live
    .table(routes)
    .list()
    .find(({ route }) => first(route.path) === first(path));
  if (!taken) return [];
  const { method, path: route } = taken.route;
  const message = `begins like the route ${method} ${route} of plugin ${taken.owner.id}; choose another path, e.g. /hooks`;
  return [{ path: "hooks.path", message }];
}

function plannedTransform({ transform, path = "" }: CompiledMapping): readonly PlannedTransform[] {
  return typeof transform === "object" ? [{ ...transform, path }] : [];
}

function byId<T>(list: readonly LiveContribution<T>[]): ReadonlyMap<string, LiveContribution<T>> {
  return new Map(list.map((one) => [one.id, one]));
}

/** A preset's id that is already in use gets a number: the operator's own mapping keeps the id. */
function presetMappings(
  name: string,
  mappings: readonly WebhookMapping[],
  disabled: ReadonlySet<string>,
  taken: Set<string>,
  issues: Issue[],
): CompiledMapping[] {
  return mappings.map(({ contentSource = "webhook", ...mapping }) => {
    const wanted = mapping.id ?? name;
    let id = wanted;
    for (let count = 2; taken.has(id); count++) id = `${wanted}-${count}`;
    taken.add(id);
    const source = {
      id,
      origin: `preset:${name}`,
      place: `preset ${name}, mapping ${id}`,
      enabled: !disabled.has(id),
      contentSource,
    };
    return compileMapping(mapping, { ...source, issues });
  });
}

type Around = Pick<Catalogue, "actions" | "verifiers" | "defaultAction"> & { readonly findAbsent: FindAbsent };

/** Reports what in a mapping cannot work with the plugins that run. */
function judge(
  mapping: CompiledMapping,
  { actions, verifiers, defaultAction, findAbsent }: Around,
  to: Findings,
): void {
  const { place, verify, secrets } = mapping;
  const name = mapping.action ?? defaultAction;
  const action = name === undefined ? undefined : actions.get(name);
  if (action) to.refusals.push(...actionIssues(mapping, action, actions.values()));
  else {
    const { message, retryAfterMs } = noAction(name, findAbsent);
    const status = retryAfterMs === undefined ? 501 : 503;
    to.waiting.push({ path: `${place}.action`, message: `${message}; requests get ${status}` });
  }
  if (verify.type === BEARER) return;
  const verifier = verifiers.get(verify.type)?.value;
  if (!verifier) {
    const known = [BEARER, ...[...verifiers.keys()].sort()].join(", ");
    const message = `no running plugin has the verifier "${verify.type}"; there are: ${known}`;
    const path = `${place}.verify.type`;
    to.refusals.push({ path, message: findAbsent("verifier", WebhookVerifier.id, verify.type)?.message ?? message });
  }
  for (const secret of secrets) {
    const problem = verifier?.secretProblem?.(secret);
    if (problem) to.refusals.push({ path: `${place}.verify.secret`, message: problem });
  }
}

/** Why no plugin can run the action of a mapping. */
export function noAction(name: string | undefined, findAbsent: FindAbsent): Absence {
  if (name === undefined)
    return {
      message:
        "no running plugin has a default action; name an action in the mapping, or add a plugin with a default action to plugins.use",
    };
  return (
    findAbsent("action", WebhookAction.id, name) ?? {
      message: `no plugin here has the action "${name}"; install a plugin that has it, or change the mapping`,
    }
  );
}
