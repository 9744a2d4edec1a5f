/** Whether this machine can run sandboxes. */
import { findSandbox } from "@svc/kit/exec";

/** Why this machine has no sandbox; `false` if it has one. If `SVC_TEST_BWRAP` is set, the sandbox must exist. */
export async function withoutSandbox(): Promise<string | false> {
  const found = await findSandbox();
  if (!("missing" in found) || process.env["SVC_TEST_BWRAP"]) return false;
  return `${found.missing}; ${found.install}`;
}
