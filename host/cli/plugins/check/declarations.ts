/** Whether package.json and code say the same, and what a plugin declares is fit to be used. Pure. */
import { type Method, type Plugin, SCOPES } from "@svc/sdk";
import { contributes, type Manifest, servesMethod } from "../../../kernel/manifest.ts";
import { failed, type Problem, unless, warning } from "./findings.ts";
import type { Declared } from "./setups.ts";

/** Id, API, namespaces, routes, gates and contributions: what is used is listed, what is listed is used. */
export function manifestProblems(manifest: Manifest, plugin: Plugin, declared: Declared): Problem[] {
  const { namespaces = [], routes = [], gates = [], contributes: listed = {} } = manifest;
  const list = (key: string, value: string) => `add "${value}" to svc.${key} in package.json`;
  const drop = (key: string, value: string) => `take "${value}" out of svc.${key} in package.json`;
  const tapped = declared.taps.flatMap(({ hook, key }) =>
    hook.kind === "gate" ? [key === undefined ? hook.name : `${hook.name}:${key}`] : [],
  );
  return [
    ...unless(
      manifest.id === plugin.id,
      failed(`code says id "${plugin.id}"`, `package.json says "${manifest.id}"; write one of them`),
    ),
    ...unless(
      plugin.config === undefined || (manifest.section ?? manifest.id) === (plugin.section ?? plugin.id),
      failed(
        `its section is "${plugin.section ?? plugin.id}"`,
        `write svc.section "${plugin.section ?? plugin.id}" in package.json`,
      ),
    ),
    ...unless(
      manifest.section === undefined || plugin.config !== undefined,
      warning(`svc.section "${manifest.section}" is listed and the code has no config`, "take svc.section out"),
    ),
    ...declared.methods
      .filter(({ name }) => !servesMethod(manifest, name))
      .map(({ name }) => failed(`${name} is outside its namespaces`, list("namespaces", name.split(".")[0] ?? name))),
    ...namespaces
      .filter(
        (prefix) => !declared.methods.some(({ name }) => servesMethod({ ...manifest, namespaces: [prefix] }, name)),
      )
      .map((prefix) => warning(`no method lies in its namespace "${prefix}"`, drop("namespaces", prefix))),
    ...declared.routes
      .filter(({ path }) => ![`/plugins/${plugin.id}/`, ...routes].some((prefix) => path.startsWith(prefix)))
      .map(({ path }) => failed(`route ${path} is outside its prefixes`, list("routes", path))),
    ...routes
      .filter((prefix) => !declared.routes.some(({ path }) => path.startsWith(prefix)))
      .map((prefix) => warning(`no route lies below "${prefix}"`, drop("routes", prefix))),
    ...tapped
      .filter((gate) => !gates.includes(gate))
      .map((gate) => failed(`it taps the gate ${gate}`, list("gates", gate))),
    ...gates
      .filter((gate) => !tapped.includes(gate))
      .map((gate) =>
        warning(`it lists the gate ${gate} and does not tap it with this configuration`, drop("gates", gate)),
      ),
    ...declared.extensions
      .filter(({ point, id }) => Object.keys(listed).length > 0 && !contributes(manifest, point, id))
      .map(({ point, id }) => failed(`its ${point} "${id}" is not listed`, list(`contributes["${point}"]`, id))),
    ...(declared.extensions.length > 0 && Object.keys(listed).length === 0
      ? [
          warning(
            `what it contributes is not listed: ${named(declared)}`,
            "list it under svc.contributes: it can be missed by name then",
          ),
        ]
      : []),
    ...Object.entries(listed)
      .flatMap(([point, ids]) => ids.map((id) => ({ point, id })))
      .filter(({ point, id }) => !declared.extensions.some((one) => one.point === point && one.id === id))
      .map(({ point, id }) =>
        warning(`it lists ${point} "${id}" and does not contribute it`, drop(`contributes["${point}"]`, id)),
      ),
  ];
}

function named({ extensions }: Declared): string {
  return extensions.map(({ point, id }) => `${point} "${id}"`).join(", ");
}

/** Each method and event has its words, its scope and the schema of an object that takes nothing unknown. */
export function contractProblems({ methods, events }: Declared): Problem[] {
  return [
    ...methods.flatMap(methodProblems),
    ...events.flatMap(({ name, summary }) =>
      unless(summary.trim() !== "", failed(`event ${name} has no summary`, "say in a line when it is sent")),
    ),
  ];
}

function methodProblems({ name, summary, scope, params, result }: Method): Problem[] {
  const shape = params as { type?: unknown; additionalProperties?: unknown };
  return [
    ...unless(summary.trim() !== "", failed(`${name} has no summary`, "say in a line what it does")),
    ...unless(
      scope === "none" || SCOPES.includes(scope),
      failed(`${name} asks for the scope "${scope}"`, `use one of ${SCOPES.join(", ")} or none`),
    ),
    ...unless(
      shape.type === "object",
      failed(`${name} takes something else than an object`, "write its params with Strict({ ... })"),
    ),
    ...unless(
      shape.type !== "object" || shape.additionalProperties === false,
      warning(
        `${name} takes keys nobody knows: a misspelt one is not noticed`,
        "write its params with Strict({ ... })",
      ),
    ),
    ...unless(
      Object.keys(result).length > 0,
      warning(`${name} does not say what it answers`, "write its result with Type.Object({ ... })"),
    ),
  ];
}

/** What keeps it from running where its package says it can. A service that cannot be reached from there is not seen here. */
export function placementProblems({ isolation }: Manifest, { taps, emits }: Declared): Problem[] {
  const apart = isolation?.supports.filter((placement) => placement !== "host") ?? [];
  if (apart.length === 0) return [];
  const traces = [...taps.map(({ hook }) => hook), ...emits].filter(({ kind }) => kind === "trace");
  return [
    ...traces.map(({ name }) =>
      failed(
        `it uses the hook ${name}, which does not wait for anybody`,
        `take ${apart.join(" and ")} out of svc.isolation.supports`,
      ),
    ),
    ...unless(
      isolation?.default === undefined || isolation.supports.includes(isolation.default),
      failed(`it prefers ${isolation?.default}, which it does not support`, "correct svc.isolation"),
    ),
  ];
}
