/** Whether this machine can run sandboxes. */
import { findSandbox } from "@svc/kit/exec";

/** Why there is no sandbox here; `false` when there is one. Where `SVC_TEST_BWRAP` is set it has to be there. */
export async function withoutSandbox(): Promise<string | false> {
  const found = await findSandbox();
  if (!("missing" in found) || process.env["SVC_TEST_BWRAP"]) return false;
  return `${found.missing}; ${found.install}`;
}
