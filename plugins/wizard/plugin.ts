/** Wizard: guided setup in typed steps, over RPC and in a terminal. Owns the extension point of its parts. */
import { definePlugin, lazy } from "@svc/sdk";
import { ConfigStore } from "@svc/sdk/config";
import { GatewayInfo, Restarts } from "@svc/sdk/gateway";
import { SetupPart, wizard } from "@svc/sdk/wizard";
import { WizardSettings } from "./settings.ts";
import type { Wizard } from "./wizard.ts";

/** The flow is imported when a setup starts. */
const code = lazy(() => import("./wizard.ts"));

export default definePlugin({
  id: "wizard",
  api: "^1.0.0",
  config: WizardSettings,
  requires: { config: ConfigStore, info: GatewayInfo, restarts: Restarts },

  setup(gateway) {
    const { clock, log, services } = gateway;
    const parts = gateway.own(SetupPart);
    let started: Wizard | undefined;
    const handlers = async () => {
      const { createWizard } = await code();
      return (started ??= createWizard({ ...services, parts, clock, log })).handlers;
    };
    gateway.serve(wizard, {
      start: async (call) => (await handlers()).start(call),
      next: async (call) => (await handlers()).next(call),
      cancel: async (call) => (await handlers()).cancel(call),
      status: async (call) => (await handlers()).status(call),
    });
    gateway.configChanged(() => undefined); // the setup itself writes the section while it runs
    gateway.onStop(() => started?.stop());
  },
});
