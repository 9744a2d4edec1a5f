/** A gateway without a connected client, for modes in which a plain client could not connect. */
import type { TestContext } from "node:test";
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
