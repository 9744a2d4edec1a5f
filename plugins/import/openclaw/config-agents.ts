/** Agents, tools and hooks: settings that have another name or place here. */
import { join, relative, resolve } from "node:path";
import { isInside } from "@svc/sdk/files";
import { convert, type Draft, move, note, remove } from "./config-draft.ts";
import { at, cut, isValues, type Path, prune, put, type Values } from "./config-paths.ts";

interface Places {
  readonly directory: string;
  readonly home: string;
}

const DEFAULTS = ["agents", "defaults"];
const MODELS = [...DEFAULTS, "models"];
const ADD_MODELS = "svc config set agents.defaults.models, with every model that agents may use";

export function convertAgents(draft: Draft, places: Places): void {
  listAgents(draft);
  move(draft, ["gateway", "nodes", "commands", "deny"], ["gateway", "nodes", "denyCommands"]);
  move(draft, ["gateway", "nodes", "commands", "allow"], ["gateway", "nodes", "allowCommands"]);
  prune(draft.config, ["gateway", "nodes", "commands"]);
  move(draft, ["memory", "search"], [...DEFAULTS, "memorySearch"]);
  convertExec(draft);
  convertModelList(draft);
  limitSkills(draft);
  placeWorkspaces(draft, places);
  placeTransforms(draft, places);
}

/** `agents.entries` -> `agents.list`; the default agent first, since the first one is the default here. */
function listAgents(draft: Draft): void {
  const entries = at(draft.config, ["agents", "entries"]);
  if (!isValues(entries)) return;
  const ids = Object.keys(entries);
  const first = ids.find((id) => at(entries[id], ["default"]) === true) ?? ids.find((id) => id === "main") ?? ids[0];
  const list = at(draft.config, ["agents", "list"]);
  let index = Array.isArray(list) ? list.length : 0;
  if (index === 0) put(draft.config, ["agents", "list"], []);
  for (const id of ids.sort((one, other) => Number(other === first) - Number(one === first))) {
    const from = ["agents", "entries", id];
    note(draft, from, "convert", "is an entry of agents.list here");
    put(draft.config, ["agents", "list", index], { id, ...(Object(entries[id]) as Values) });
    draft.moved.push({ from, to: ["agents", "list", index] });
    index += 1;
  }
  cut(draft.config, ["agents", "entries"]);
}

function agentsOf({ config }: Draft): (readonly [path: Path, agent: Values])[] {
  const list = at(config, ["agents", "list"]);
  return (Array.isArray(list) ? (list as unknown[]) : []).flatMap((agent, index) =>
    isValues(agent) ? [[["agents", "list", index], agent] as const] : [],
  );
}

const EXEC_MODES: Readonly<Record<string, Values>> = {
  deny: { security: "deny" },
  allowlist: { security: "allowlist", ask: "off" },
  ask: { security: "allowlist", ask: "on-miss" },
  auto: { security: "allowlist", ask: "on-miss" },
  full: { security: "full", ask: "off" },
};

function convertExec(draft: Draft): void {
  const path = ["tools", "exec", "mode"];
  const mode = at(draft.config, path);
  if (typeof mode === "string" && Object.hasOwn(EXEC_MODES, mode)) {
    note(draft, path, "convert", "is tools.exec.security and tools.exec.ask here");
    cut(draft.config, path);
    const exec = Object(at(draft.config, ["tools", "exec"])) as Values;
    put(draft.config, ["tools", "exec"], { ...exec, ...EXEC_MODES[mode] });
  }
}

/**
 * `agents.defaults.models` is the list of allowed models here, as it was in 2026.3. Later versions have the list in
 * `modelPolicy`, and only aliases in `models`. Models of the agents themselves are always allowed, so they are added.
 */
function convertModelList(draft: Draft): void {
  const { config, source } = draft;
  const path = [...DEFAULTS, "modelPolicy"];
  const policy = at(config, path);
  const names = Object(at(config, MODELS)) as Values;
  const isSeparate = isValues(policy) || at(source, ["meta", "migrations", "modelPolicyAllowlist"]) === true;
  const given = isSeparate ? at(policy, ["allow"]) : Object.keys(names);
  const allow = Array.isArray(given) ? given.map(String) : [];
  if (isSeparate && allow.length === 0)
    remove(draft, MODELS, "keep", "aliases; here this list would forbid all other models", ADD_MODELS);
  note(draft, [...path, "allow"], "convert", "is agents.defaults.models here");
  cut(config, [...path, "allow"]);
  prune(config, path);
  if (allow.length === 0) return;

  const all = allow.filter((ref) => ref.endsWith("/*"));
  const listed = allow.flatMap((ref) => (all.includes(ref) ? modelsOf(config, ref.slice(0, -2)) : [ref]));
  for (const ref of all)
    draft.stricter.push(`agents.defaults.models: of ${ref}, only models in models.providers are allowed`);
  for (const ref of Object.keys(names))
    if (!listed.includes(ref)) remove(draft, [...MODELS, ref], "drop", "the list names models, and only allowed ones");
  const used = [[...DEFAULTS, "model"], ...agentsOf(draft).map(([agent]) => [...agent, "model"])].flatMap((place) => {
    const model = at(config, place);
    return typeof model === "string" ? [model] : [at(model, ["primary"]), at(model, ["fallbacks"])].flat();
  });
  const refs = used.filter((ref): ref is string => typeof ref === "string" && ref.includes("/"));
  put(config, MODELS, Object.fromEntries([...listed, ...refs].map((ref) => [ref, names[ref] ?? {}])));
}

function modelsOf(config: Values, provider: string): string[] {
  const models = at(config, ["models", "providers", provider, "models"]);
  return Array.isArray(models) ? models.map((model) => `${provider}/${String(at(model, ["id"]))}`) : [];
}

/** A list of skills for all agents -> one for each agent without its own. */
function limitSkills(draft: Draft): void {
  const path = [...DEFAULTS, "skills"];
  const skills = at(draft.config, path);
  if (!Array.isArray(skills)) return;
  if (agentsOf(draft).length === 0) put(draft.config, ["agents", "list"], [{ id: "main" }]);
  for (const [agent, own] of agentsOf(draft))
    if (own["skills"] === undefined) put(draft.config, [...agent, "skills"], skills);
  note(draft, path, "convert", "is a list of each agent here");
  cut(draft.config, path);
}

/** Workspaces are used where they are. Absent settings are written out, since the default is another directory here. */
function placeWorkspaces(draft: Draft, { directory, home }: Places): void {
  const { config } = draft;
  const agents = agentsOf(draft);
  const main = (agents.find(([, { default: isDefault }]) => isDefault === true) ?? agents[0])?.[1];
  for (const path of [DEFAULTS, ...agents.map(([agent]) => agent)].map((one) => [...one, "workspace"])) {
    const given = at(config, path);
    if (typeof given === "string" && /^~(?=\/|$)/u.test(given))
      convert(draft, path, home + given.slice(1), "the home directory is written out");
  }
  if (at(config, [...DEFAULTS, "workspace"]) === undefined)
    put(config, [...DEFAULTS, "workspace"], join(home, ".openclaw", "workspace"));
  for (const [path, agent] of agents)
    if (agent !== main && agent["workspace"] === undefined)
      put(config, [...path, "workspace"], join(directory, `workspace-${String(agent["id"])}`));
}

/** The transforms are copied, so their directory is relative to the new one. */
function placeTransforms(draft: Draft, { directory }: Places): void {
  const path = ["hooks", "transformsDir"];
  const given = at(draft.config, path);
  const root = join(directory, "hooks", "transforms");
  if (typeof given !== "string" || !isInside(root, resolve(root, given))) return;
  const below = relative(root, resolve(root, given));
  if (below === "") remove(draft, path, "drop", "is the default");
  else if (below !== given) convert(draft, path, below, "the transforms are copied");
}
