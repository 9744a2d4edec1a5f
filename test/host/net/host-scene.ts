/** A gateway without a connected client, for modes in which a plain client could not connect. */
import { after, before, type TestContext } from "node:test";
import type { HostedGateway } from "@svc/sdk/testing";
import { directoryOf } from "../kernel/reload-scene.ts";

interface Host {
  createGateway(options: object): Promise<HostedGateway>;
}

export async function startHost(t: TestContext, options: object): Promise<HostedGateway> {
  const { createGateway } = (await import("@svc/host" as string)) as Host;
  const stateDir = await directoryOf(t, "svc-host-");
  const defaults = { env: {}, port: 0, stateDir, logLevel: "silent", checkResults: true, drainMs: 10 };
  const gateway = await createGateway({ ...defaults, ...options });
  t.after(() => gateway.stop());
  return gateway;
}

/** One scene for all tests of the `describe` this is called in. */
export function sharedScene<Scene>(start: (t: TestContext) => Promise<Scene>): () => Scene {
  let running: Scene | undefined;
  const cleanUps: (() => unknown)[] = [];
  before(async () => {
    const context = { after: (cleanUp: () => unknown) => void cleanUps.push(cleanUp) };
    running = await start(context as unknown as TestContext); // only what a start uses
  });
  after(async () => {
    for (const cleanUp of cleanUps.toReversed()) await cleanUp();
  });
  return () => {
    if (!running) throw new Error("the gateway is not running yet");
    return running;
  };
}
