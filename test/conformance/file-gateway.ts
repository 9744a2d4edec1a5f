/** A gateway with its own configuration file, so that methods that change it can be called. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { type TestGateway, testGateway, type TestGatewayOptions } from "@svc/sdk/testing";

export async function fileGateway(
  t: TestContext,
  text = "{}",
  options: Pick<TestGatewayOptions, "plugins"> = {},
): Promise<TestGateway> {
  const stateDir = await mkdtemp(join(tmpdir(), "svc-test-"));
  await writeFile(join(stateDir, "svc.json"), text);
  const running = await testGateway(t, { ...options, stateDir, gateway: { config: undefined } });
  t.after(() => rm(stateDir, { recursive: true, force: true, maxRetries: 10 })); // after the gateway was stopped
  return running;
}
