/** Refuses the params that newer clients send and this gateway does not support, each by its name. Pure. */
import type { ParamsOf } from "@svc/sdk";
import { refusal } from "@svc/sdk/errors";
import type { sessions } from "@svc/sdk/sessions";

export const UNSUPPORTED_IN_PATCH = [
  "fastMode",
  "permissionMode",
  "toolOverrides",
  "traceLevel",
  "contextWindow",
  "boardFace",
  "statusNote",
  "attention",
  "ttlMinutes",
  "completionOwnerSessionKey",
  "inheritedToolPolicyVersion",
  "inheritedToolAllow",
  "inheritedToolDeny",
  "expectedLifecycleRevision",
  "expectedPermissionMode",
  "expectedToolOverrides",
] as const satisfies readonly (keyof ParamsOf<typeof sessions.patch>)[];

export const UNSUPPORTED_IN_CREATE = [
  "incognito",
  "fork",
  "worktree",
  "contextWindow",
  "fastMode",
  "permissionMode",
  "toolOverrides",
  "catalogId",
  "spawnDepth",
  "forkFrom",
  "task",
  "mentions",
  "projectId",
  "projectGitUrl",
  "repository",
  "worktreeSource",
  "worktreeBaseRef",
  "worktreeName",
  "execNode",
  "cwd",
] as const satisfies readonly (keyof ParamsOf<typeof sessions.create>)[];

export const UNSUPPORTED_IN_DELETE = ["expectedLifecycleRevision"] as const;

/** @throws GatewayError `INVALID_REQUEST` with the name of a param that asks for something */
export function refuseUnsupported<P extends object>(
  method: string,
  params: P,
  fields: readonly (keyof P & string)[],
): void {
  const param = fields.find((field) => !asksForNothing(params[field]));
  if (param === undefined) return;
  const message = `${method}: \`${param}\` is not supported by this gateway; leave it out`;
  throw refusal("INVALID_PARAM", message, { param });
}

function asksForNothing(value: unknown): boolean {
  return value === undefined || value === null || value === false;
}
