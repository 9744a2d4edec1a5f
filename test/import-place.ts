/** A home directory with the state of another gateway, and the commands of `svc` beside it. */
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { ImportReport } from "@svc/kit/import";
import type { GatewayClient } from "@svc/sdk/client";
import { startGatewayProcess } from "./gateway-process.ts";
import { type OpenClawState, openClawHome } from "./openclaw-state.ts";
import { svc } from "./run-svc.ts";

export interface Place extends OpenClawState {
  /** State directory of the new gateway; it does not exist. */
  readonly stateDir: string;
  run(...words: readonly string[]): ReturnType<typeof svc>;
  /** The report of an import, as `--json` prints it. */
  report(...words: readonly string[]): Promise<ImportReport>;
}

export function place(t: TestContext, fixture?: string): Place {
  const made = openClawHome(t, fixture);
  mkdirSync(join(made.home, "tmp"));
  return placeIn(made, ".svc");
}

/** The same home directory with another state directory. */
export function placeIn({ home, state }: OpenClawState, name: string): Place {
  const stateDir = join(home, name);
  const env = { HOME: home, SVC_DATABASE_URL: "", TMPDIR: join(home, "tmp") };
  const run = (...words: readonly string[]) => svc(stateDir, words, env);
  return {
    home,
    state,
    stateDir,
    run,
    async report(...words) {
      const { code, stdout, stderr } = await run("import", "openclaw", "--json", ...words);
      assert.equal(code, 0, stderr + stdout);
      return JSON.parse(stdout) as ImportReport;
    },
  };
}

export async function withGateway<T>(
  t: TestContext,
  { stateDir, home }: Place,
  work: (client: GatewayClient) => Promise<T>,
  port = 0,
): Promise<T> {
  const gateway = await startGatewayProcess(
    stateDir,
    { HOME: home, SVC_SKIP_CRON: "1", SVC_DATABASE_URL: "" },
    { token: "gw-throwaway-token-1", port: String(port) },
  );
  t.after(() => gateway.kill());
  const client = await gateway.connect({ scopes: ["operator.admin"] });
  try {
    return await work(client);
  } finally {
    await client.close();
    await gateway.kill("SIGTERM");
  }
}
