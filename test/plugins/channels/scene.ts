/** A gateway with channels, agents that answer without a model, and services a test can look into. */
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { definePlugin, type Plugin, type ServicesOf } from "@svc/sdk";
import { AgentRuns } from "@svc/sdk/agents";
import { Delivery } from "@svc/sdk/channels";
import { Sessions } from "@svc/sdk/sessions";
import { Storage } from "@svc/sdk/storage";
import { testGateway, type TestGatewayOptions } from "@svc/sdk/testing";

const requires = { sessions: Sessions, storage: Storage, delivery: Delivery, runs: AgentRuns };
export type Inside = ServicesOf<typeof requires>;

const BUNDLED = [
  "storage-sqlite",
  "sessions",
  "models",
  "provider-offline",
  "agents",
  "plugins",
  "commands",
  "channels",
];

/** @param without bundled plugins that are left out */
export async function startScene(
  t: TestContext,
  plugins: readonly (Plugin | string)[],
  { without = [], ...options }: TestGatewayOptions & { readonly without?: readonly string[] } = {},
) {
  const found: { inside?: Inside } = {};
  const bundled = BUNDLED.filter((id) => !without.includes(id));
  const probe = definePlugin({
    id: "probe",
    api: "^1.0.0",
    requires,
    setup: (gateway) => gateway.start(() => void (found.inside = gateway.services)),
  });
  const config = { agents: { defaults: { skipBootstrap: true } }, ...options.config };
  const running = await testGateway(t, { ...options, plugins: [...bundled, ...plugins, probe], config });
  if (!found.inside) throw new Error(`the probe did not start: ${JSON.stringify(running.gateway.plugins())}`);
  return { ...running, inside: found.inside };
}

/** @param ms maximum time; at least 10 seconds */
export async function until<T>(look: () => T | Promise<T>, what: string, ms = 0): Promise<NonNullable<T>> {
  for (const end = performance.now() + Math.max(ms, 10_000); performance.now() < end;) {
    const seen = await look();
    if (seen !== undefined && seen !== null && (seen as unknown) !== false) return seen as NonNullable<T>;
    await sleep(10);
  }
  throw new Error(`never saw ${what}`);
}
