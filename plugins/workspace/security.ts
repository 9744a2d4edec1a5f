/** Security checks of the directories in which programs for agents are searched. */
import { commandText, configAt, defineSecurityChecks, type SecurityHit, textsOf } from "@svc/sdk/cli";
import { sharedPlace } from "@svc/sdk/files";

export default defineSecurityChecks([
  {
    id: "workspace.shared-path",
    severity: "critical",
    why: "Anyone who can write to the directory chooses the program that runs under an allowed name.",
    find: async ({ config }) =>
      (await Promise.all(textsOf(configAt(config, "tools.exec.pathPrepend")).map(sharedHit))).flat(),
  },
]);

async function sharedHit(directory: string): Promise<readonly SecurityHit[]> {
  const shared = await sharedPlace(directory);
  if (!shared) return [];
  const { path, fault } = shared;
  const about = "tools.exec.pathPrepend";
  return fault === "writable"
    ? [{ about, message: `Other users can write to ${path}.`, fix: commandText(["chmod", "go-w", path]) }]
    : [{ about, message: `${path} belongs to another user.`, fix: `chown "$(id -un)" ${commandText([path])}` }];
}
