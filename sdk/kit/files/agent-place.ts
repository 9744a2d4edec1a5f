/** The one directory an agent's tools may use, and the names in it that are off limits. */
import { mkdir, realpath } from "node:fs/promises";
import { isAbsolute, join, sep } from "node:path";
import { invalidRequest, notFound } from "@svc/sdk";
import type { AgentDirectory } from "@svc/sdk/agents";
import { isInside } from "@svc/sdk/files";
import { diskRefusal } from "./disk-refusal.ts";
import { foldedPath } from "./folded-path.ts";

/** Location of an agent's files. */
export interface Place {
  /** As configured. */
  readonly workspace: string;
  /** `workspace` with links resolved. */
  readonly root: string;
  /**
   * Directories below it that are off limits: the state directory of the gateway, workspaces of other agents. Absolute,
   * links resolved.
   */
  readonly closed: readonly string[];
}

export interface PlaceSources {
  readonly agents: Pick<AgentDirectory, "list">;
  /** State directory of the gateway. */
  stateDir(): string;
}

/**
 * @param make creates the directory (0700) if it is missing
 * @returns `undefined` if it does not exist
 * @throws GatewayError `NOT_FOUND` if the agent is no longer configured
 */
export async function placeOf(
  agentId: string,
  { agents, stateDir }: PlaceSources,
  make: boolean,
): Promise<Place | undefined> {
  const all = agents.list();
  const agent = all.find(({ id }) => id === agentId) ?? notFound(`agent "${agentId}" is no longer configured`);
  const { workspace } = agent;
  if (make)
    await mkdir(workspace, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
      throw diskRefusal(error, "the workspace", { permissions: "INVALID_REQUEST", isNamed: true }) ?? error;
    });
  const root = await realOf(workspace);
  if (root === undefined) return undefined;
  const others = all.filter((other) => other.id !== agentId && other.workspace !== workspace);
  const named = [stateDir(), ...others.map((other) => other.workspace)];
  const foreign = await Promise.all(named.map(async (path) => (await realOf(path)) ?? path));
  const closed = foreign.filter((path, index) => isInside(root, path) && (index === 0 || path !== root));
  return { workspace, root, closed };
}

async function realOf(path: string): Promise<string | undefined> {
  return realpath(path).catch(() => undefined);
}

/**
 * Resolves a path given by an agent to a name below the workspace: relative, or absolute and inside it; `""` is the
 * workspace itself. Pure; the code that opens it checks the steps.
 * @throws GatewayError `INVALID_REQUEST` for `~`, for paths outside the workspace, and for paths that are off limits
 */
export function nameWithin(given: string, place: Place): string {
  const shown = JSON.stringify(given.slice(0, 200));
  if (given === "") invalidRequest("the path is empty; name a file below the workspace");
  if (given.startsWith("~")) invalidRequest(`${shown}: ~ has no meaning here; write a path below the workspace`);
  const name = isAbsolute(given) ? belowRoot(given, place, shown) : given.replace(/^(\.\/+)+/, "").replace(/^\.$/, "");
  const path = foldedPath(join(place.root, name));
  if (place.closed.some((closed) => path === foldedPath(closed) || path.startsWith(foldedPath(closed) + sep))) {
    invalidRequest(`${shown} belongs to the gateway or to another agent; use other files of the workspace`);
  }
  return name;
}

function belowRoot(given: string, { workspace, root }: Place, shown: string): string {
  for (const base of [workspace, root]) {
    if (given === base) return "";
    if (given.startsWith(`${base}/`)) return given.slice(base.length + 1);
  }
  return invalidRequest(`${shown} is outside the workspace; write a path below it`);
}
