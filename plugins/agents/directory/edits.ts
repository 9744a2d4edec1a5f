/** Computes changes of the agent list from the parsed configuration file. Pure; runs under the file's lock. */
import { normalizeId } from "@svc/kit/agent-address";
import { invalidRequest } from "@svc/sdk";
import type { ConfigEdit } from "@svc/sdk/config";
import { unknownAgent } from "./directory.ts";

/** The parsed file, without defaults and with unresolved placeholders. */
type ParsedFile = Readonly<Record<string, unknown>>;
type Fields = Readonly<Record<string, unknown>>;

const LIST = ["agents", "list"] as const;
/** The agent that exists without a list. Spec: http/sessions-routing.md §1. */
const BUILT_IN = "main";

/** Fields that `agents.update` changes; absent: unchanged. */
export interface AgentChange {
  readonly name?: string;
  readonly workspace?: string;
  readonly model?: string;
  readonly avatar?: string;
  /** Empty: removed. */
  readonly emoji?: string;
  /** Empty: removed. */
  readonly theme?: string;
}

function isRecord(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The agent list of the file. @throws GatewayError `INVALID_REQUEST` when the list is not in this file */
function listIn(parsed: ParsedFile): readonly unknown[] {
  const section = parsed["agents"];
  const list = isRecord(section) ? section["list"] : undefined;
  if (Array.isArray(list)) return list as readonly unknown[];
  const includes = "$include" in parsed || (isRecord(section) && "$include" in section);
  if (includes || list !== undefined || (section !== undefined && !isRecord(section))) {
    invalidRequest("agents.list is not in the main configuration file; change the agents in the file that contains it");
  }
  return [];
}

const idOf = (entry: unknown) =>
  isRecord(entry) && typeof entry["id"] === "string" ? normalizeId(entry["id"]) : undefined;

/**
 * Appends an agent. The first entry of a list would replace the built-in agent, so that agent is added as well.
 * @throws GatewayError `INVALID_REQUEST` when an agent with this id exists
 */
export function createEdits(parsed: ParsedFile, entry: Fields & { readonly id: string }): readonly ConfigEdit[] {
  const list = listIn(parsed);
  if (list.some((other) => idOf(other) === entry.id)) {
    invalidRequest(`agent "${entry.id}" already exists; choose another name, or change it with agents.update`);
  }
  if (list.length === 0) return [{ path: LIST, value: [{ id: BUILT_IN }, entry] }];
  return [{ path: [...LIST, list.length], value: entry }];
}

/** @throws GatewayError `NOT_FOUND` when the agent is not in the list */
export function updateEdits(parsed: ParsedFile, id: string, change: AgentChange): readonly ConfigEdit[] {
  const { name, workspace, model, avatar, emoji, theme } = change;
  const list = listIn(parsed);
  const index = list.findIndex((entry) => idOf(entry) === id);
  if (index < 0 && (id !== BUILT_IN || list.length > 0)) throw unknownAgent(id);
  const entry = list[index];
  const former = isRecord(entry) ? entry : {};
  // Keeps the fallbacks: only the primary model changes.
  const modelPath = isRecord(former["model"]) ? ["model", "primary"] : ["model"];
  const wanted: readonly (readonly [path: readonly string[], value: string | undefined])[] = [
    [["name"], name],
    [["workspace"], workspace],
    [modelPath, model],
    [["identity", "avatar"], avatar],
    [["identity", "emoji"], emoji],
    [["identity", "theme"], theme],
  ];
  const changed = wanted.filter(([path, value]) => value !== undefined && (valueAt(former, path) ?? "") !== value);
  if (changed.length === 0) return [];
  if (index >= 0) {
    return changed.map(([path, value]) => ({
      path: [...LIST, index, ...path],
      ...(value === "" ? {} : { value }),
    }));
  }
  const fresh: Record<string, unknown> = { id: BUILT_IN };
  const identity: Record<string, unknown> = {};
  for (const [path, value] of changed) (path.length === 1 ? fresh : identity)[path.at(-1) ?? ""] = value;
  return [{ path: LIST, value: [{ ...fresh, ...(Object.keys(identity).length === 0 ? {} : { identity }) }] }];
}

function valueAt(fields: Fields, [first = "", ...rest]: readonly string[]): unknown {
  const value = fields[first];
  return rest.length === 0 ? value : isRecord(value) ? valueAt(value, rest) : undefined;
}

/**
 * Removes an agent from the agent list, from `bindings` and from other agents' `allowAgents`, so that a later agent with
 * the same id inherits nothing. Bindings are removed from the last to the first, so that earlier indexes stay valid.
 * @throws GatewayError `NOT_FOUND` when the agent is not in the list
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
