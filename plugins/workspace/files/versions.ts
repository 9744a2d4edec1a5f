/** Reports to the plugin that owns agents which tool call writes which files, so that versions of identity files name their author. */
import type { Principal } from "@svc/sdk";
import type { IdentityFiles } from "@svc/sdk/agents";
import type { ToolCall } from "@svc/sdk/tools";

/** Runs `write`. @param names of the files it may change, below the workspace */
export type VersionKeeper = <T>(
  context: { readonly call: ToolCall; readonly principal: Principal },
  names: readonly string[],
  write: () => Promise<T>,
) => Promise<T>;

/** @param identityFiles called at each write; without the service no versions are stored */
export function createVersionKeeper(identityFiles: () => IdentityFiles | undefined): VersionKeeper {
  return ({ call, principal }, paths, write) => {
    const { agentId, name: how, sessionKey, runId } = call;
    return identityFiles()?.change({ agentId, paths, how, principal, sessionKey, runId }, write) ?? write();
  };
}
