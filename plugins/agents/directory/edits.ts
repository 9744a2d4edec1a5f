/** Changes of the list of agents, decided from the configuration file as it is written. Pure; runs under the file's lock. */
import { normalizeId } from "@svc/kit/agent-address";
import { invalidRequest } from "@svc/sdk";
import type { ConfigEdit } from "@svc/sdk/config";
import { unknownAgent } from "./directory.ts";

/** The file as parsed: no defaults, placeholders unresolved. */
type ParsedFile = Readonly<Record<string, unknown>>;
type Fields = Readonly<Record<string, unknown>>;

const LIST = ["agents", "list"] as const;
/** The agent there is without a list. Spec: http/sessions-routing.md §1. */
const BUILT_IN = "main";

/** What `agents.update` changes. */
export interface AgentChange {
  readonly name?: string;
  readonly workspace?: string;
  readonly model?: string;
  readonly avatar?: string;
}

function isRecord(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The list as it stands in the file. @throws GatewayError `INVALID_REQUEST` when it stands in another one */
function listIn(parsed: ParsedFile): readonly unknown[] {
  const section = parsed["agents"];
  const list = isRecord(section) ? section["list"] : undefined;
  if (Array.isArray(list)) return list as readonly unknown[];
  const includes = "$include" in parsed || (isRecord(section) && "$include" in section);
  if (includes || list !== undefined || (section !== undefined && !isRecord(section))) {
    invalidRequest("agents.list does not stand in the configuration file itself; change the agents where it stands");
  }
  return [];
}

const idOf = (entry: unknown) =>
  isRecord(entry) && typeof entry["id"] === "string" ? normalizeId(entry["id"]) : undefined;

/**
 * Appends an agent. A first entry would take the place of the built-in agent, so that one is written down with it.
 * @throws GatewayError `INVALID_REQUEST` when there is one with this id
 */
export function createEdits(parsed: ParsedFile, entry: Fields & { readonly id: string }): readonly ConfigEdit[] {
  const list = listIn(parsed);
  if (list.some((other) => idOf(other) === entry.id)) {
    invalidRequest(`agent "${entry.id}" already exists; choose another name, or change it with agents.update`);
  }
  if (list.length === 0) return [{ path: LIST, value: [{ id: BUILT_IN }, entry] }];
  return [{ path: [...LIST, list.length], value: entry }];
}

/** @throws GatewayError `NOT_FOUND` when the agent is not there */
export function updateEdits(parsed: ParsedFile, id: string, change: AgentChange): readonly ConfigEdit[] {
  const { name, workspace, model, avatar } = change;
  const list = listIn(parsed);
  const index = list.findIndex((entry) => idOf(entry) === id);
  if (index < 0 && (id !== BUILT_IN || list.length > 0)) throw unknownAgent(id);
  const entry = list[index];
  const former = isRecord(entry) ? entry : {};
  // A model with fallbacks keeps them: only the first choice changes.
  const modelPath = isRecord(former["model"]) ? ["model", "primary"] : ["model"];
  const wanted: readonly (readonly [path: readonly string[], value: string | undefined])[] = [
    [["name"], name],
    [["workspace"], workspace],
    [modelPath, model],
    [["identity", "avatar"], avatar],
  ];
  const changed = wanted.filter(([path, value]) => value !== undefined && valueAt(former, path) !== value);
  if (changed.length === 0) return [];
  if (index >= 0) return changed.map(([path, value]) => ({ path: [...LIST, index, ...path], value }));
  const fresh = changed.map(([path, value]) =>
    path.length === 1 ? [path[0], value] : ["identity", { avatar: value }],
  );
  return [{ path: LIST, value: [{ id: BUILT_IN, ...Object.fromEntries(fresh) }] }];
}

function valueAt(fields: Fields, [first = "", ...rest]: readonly string[]): unknown {
  const value = fields[first];
  return rest.length === 0 ? value : isRecord(value) ? valueAt(value, rest) : undefined;
}

/**
 * Takes an agent off the list, off `bindings`, and off what other agents may start: an agent that gets the same id later
 * inherits nothing. Places are given last first, so that each stays right while the edits are made in order.
 * @throws GatewayError `NOT_FOUND` when the agent is not there
 */
export function deleteEdits(
  parsed: ParsedFile,
  id: string,
): { readonly edits: readonly ConfigEdit[]; readonly removedBindings: number } {
  const list = listIn(parsed);
  const index = list.findIndex((entry) => idOf(entry) === id);
  if (index < 0) throw unknownAgent(id);
  const permissions = list.flatMap((entry, at): ConfigEdit[] => {
    const allowed = valueAt(isRecord(entry) ? entry : {}, ["subagents", "allowAgents"]);
    if (at === index || !Array.isArray(allowed)) return [];
    const kept = allowed.filter((other) => typeof other !== "string" || normalizeId(other) !== id);
    return kept.length === allowed.length ? [] : [{ path: [...LIST, at, "subagents", "allowAgents"], value: kept }];
  });
  const all = parsed["bindings"];
  const bindings = (Array.isArray(all) ? (all as readonly unknown[]) : []).flatMap((binding, at): ConfigEdit[] => {
    const owner = isRecord(binding) ? binding["agentId"] : undefined;
    return typeof owner === "string" && normalizeId(owner) === id ? [{ path: ["bindings", at] }] : [];
  });
  return {
    edits: [...permissions, { path: [...LIST, index] }, ...bindings.toReversed()],
    removedBindings: bindings.length,
  };
}
