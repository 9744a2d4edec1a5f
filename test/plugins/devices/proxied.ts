/** A gateway behind a proxy that names users; all other clients are refused. */
import type { TestContext } from "node:test";
import { createGateway } from "@svc/host";
import devicesPlugin from "../../../plugins/devices/plugin.ts";
import { temporaryDirectory } from "./directory.ts";
import { type Attempt, knock, type Outcome } from "./scene.ts";

/** @returns a function that connects and waits for the response */
export async function startProxied(
  t: TestContext,
  gateway: Readonly<Record<string, unknown>>,
): Promise<(attempt: Attempt) => Promise<Outcome>> {
  const stateDir = await temporaryDirectory(t);
  const hosted = await createGateway({
    env: {},
    port: 0,
    stateDir,
    config: { gateway },
    logLevel: "silent",
    plugins: ["storage-sqlite", devicesPlugin],
  });
  t.after(() => hosted.stop());
  return async (attempt) => {
    const outcome = await knock(hosted.url, attempt);
    t.after(() => outcome.socket.ws.terminate());
    return outcome;
  };
}
