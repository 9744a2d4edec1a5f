/** Where the files of agents lie: decided from settings alone, nothing is touched. */
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { invalidRequest } from "@svc/sdk";
import { isInside } from "@svc/sdk/files";
import type { AgentsConfig } from "../config.ts";

/** The directories that paths start from. */
export interface Places {
  readonly stateDir: string;
  /** What `~` stands for. */
  readonly home: string;
}

type AgentEntry = NonNullable<AgentsConfig["list"]>[number];

/** Absolute, `~` filled in; a relative path starts in the state directory, never where the gateway was started. */
export function expandPath(path: string, { stateDir, home }: Places): string {
  return resolve(
    stateDir,
    path.replace(/^~(?=\/|$)/, () => home),
  );
}

/** Everything of an agent that is not its workspace: `<state>/agents/<id>`. */
export function agentHome(id: string, { stateDir }: Places): string {
  return join(stateDir, "agents", id);
}

/**
 * The agent's own setting, then (default agent only) that of the defaults, then `<state>/workspace`, or
 * `<state>/workspace-<id>` for other agents. Choice: in the state directory, outside of which a start writes nothing.
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

/** A path as a caller wrote it, made absolute. @throws GatewayError `INVALID_REQUEST` for a relative one */
export function callersPath(path: string, places: Places): string {
  if (path.includes("\0")) invalidRequest("workspace: a path has no NUL character");
  if (!isAbsolute(path) && !/^~(\/|$)/.test(path)) {
    invalidRequest(`workspace: "${path}" is a relative path; write it from the root, or from your home with ~/`);
  }
  return expandPath(path, places);
}

/**
 * Why this directory cannot be an agent's workspace; `undefined`: it can. All paths absolute, links followed.
 * Choice: within the state directory only `workspace...` directories; the rest holds secrets and the gateway's own files.
 */
export function workspaceObstacle(
  path: string,
  stateDir: string,
  others: readonly { readonly id: string; readonly workspace: string }[],
): string | undefined {
  if (isInside(path, stateDir)) {
    return `${path} holds the state directory with its secrets; choose a directory for this agent alone`;
  }
  const [first = ""] = relative(stateDir, path).split(sep);
  if (isInside(stateDir, path) && !first.startsWith("workspace")) {
    return `${path} belongs to the gateway; choose a directory outside ${stateDir}, or ${join(stateDir, "workspace-...")}`;
  }
  const owner = others.find(({ workspace }) => workspace === path);
  return owner && `${path} is the workspace of agent "${owner.id}"; choose another directory`;
}
