/** Run by stray.test.ts in its own process: a plugin with five unhandled rejections. */
import { type Principal } from "@svc/sdk";
import { createFakeClock } from "@svc/sdk/testing";
import { HookBus } from "../../../host/hooks/hook-bus.ts";
import { watchStrayErrors } from "../../../host/kernel/current-owner.ts";
import { Kernel } from "../../../host/kernel/kernel.ts";
import { Kinds } from "../../../host/kernel/kernel-hooks.ts";
import { KINDS } from "../../../host/kernel/kinds/index.ts";
import type { HostParts } from "../../../host/kernel/staging.ts";
import { pluginOf } from "../../plugin-of.ts";

const log = { debug() {}, info() {}, warn() {}, error() {} };
const clock = createFakeClock();
const hooks = new HookBus();
const kinds = new Kinds(hooks, KINDS);
const nobody: Principal = { id: "x", role: "operator", scopes: [], provenance: "plugin", epoch: 0 };
const host: HostParts = {
  clock,
  stateDir: "/nowhere",
  publish: () => {},
  forward: () => {},
  actingFor: (asked) => asked,
  invoke: () => Promise.resolve(undefined),
};
const kernel = new Kernel({
  log,
  clock,
  kinds,
  isConfigured: () => false,
  configOf: () => ({ value: {}, sections: {} }),
  logFor: () => log,
  principalFor: () => nobody,
});
const stray = pluginOf("stray", (gateway) =>
  gateway.every(1_000, () => void Promise.reject(new Error("nobody waits"))),
);
watchStrayErrors(() => process.exit(3));
await kernel.boot(
  {
    sources: [{ origin: "inline", key: "inline", manifest: undefined, load: () => Promise.resolve(stray) }],
    disabled: new Set(),
  },
  host,
);
const states: string[] = [];
for (let turn = 0; turn < 5; turn++) {
  await clock.advance(1_000);
  await new Promise((resolve) => setTimeout(resolve, 20));
  states.push(kernel.reports()[0]?.state ?? "none");
}
process.stdout.write(JSON.stringify(states));
await kernel.stop();
