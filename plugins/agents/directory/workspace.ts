/** Paths of agents' files, derived from settings alone; never accesses the file system. */
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { invalidRequest } from "@svc/sdk";
import { isInside } from "@svc/sdk/files";
import type { AgentsConfig } from "../config.ts";

/** Base directories of paths. */
export interface Places {
  readonly stateDir: string;
  /** What `~` stands for. */
  readonly home: string;
}

type AgentEntry = NonNullable<AgentsConfig["list"]>[number];

/** Makes a path absolute and expands `~`; a relative path starts in the state directory, never in the working directory. */
export function expandPath(path: string, { stateDir, home }: Places): string {
  return resolve(
    stateDir,
    path.replace(/^~(?=\/|$)/, () => home),
  );
}

/** Directory of an agent's files outside its workspace: `<state>/agents/<id>`. */
export function agentHome(id: string, { stateDir }: Places): string {
  return join(stateDir, "agents", id);
}

/**
 * The agent's own setting, else for the default agent `defaults.workspace` or `<state>/workspace`, else
 * `<state>/workspace-<id>`. Choice: the defaults are in the state directory, since a start writes nothing outside it.
 */
export function workspaceOf(
  agent: { readonly id: string; readonly isDefault: boolean },
  entry: Pick<AgentEntry, "workspace"> | undefined,
  defaults: Pick<AgentsConfig["defaults"], "workspace">,
  places: Places,
): string {
  if (entry?.workspace !== undefined) return expandPath(entry.workspace, places);
  if (!agent.isDefault) return join(places.stateDir, `workspace-${agent.id}`);
  return defaults.workspace === undefined ? join(places.stateDir, "workspace") : expandPath(defaults.workspace, places);
}

/** Makes a caller's path absolute. @throws GatewayError `INVALID_REQUEST` for a relative path */
export function callersPath(path: string, places: Places): string {
  if (path.includes("\0")) invalidRequest("workspace: the path contains a NUL character");
  if (!isAbsolute(path) && !/^~(\/|$)/.test(path)) {
    invalidRequest(`workspace: "${path}" is a relative path; use an absolute path or start it with ~/`);
  }
  return expandPath(path, places);
}

/**
 * The reason this directory cannot be an agent's workspace; `undefined`: it can. All paths are absolute and real.
 * Choice: within the state directory only `workspace...` is allowed; the rest contains secrets and the gateway's files.
 */
export function workspaceObstacle(
  path: string,
  stateDir: string,
  others: readonly { readonly id: string; readonly workspace: string }[],
): string | undefined {
  if (isInside(path, stateDir)) {
    return `${path} contains the state directory with its secrets; choose a directory for this agent alone`;
  }
  const [first = ""] = relative(stateDir, path).split(sep);
  if (isInside(stateDir, path) && !first.startsWith("workspace")) {
    return `${path} belongs to the gateway; choose a directory outside ${stateDir}, or ${join(stateDir, "workspace-...")}`;
  }
  const owner = others.find(({ workspace }) => workspace === path);
  return owner && `${path} is the workspace of agent "${owner.id}"; choose another directory`;
}
