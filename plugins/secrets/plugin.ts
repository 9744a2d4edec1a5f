/**
 * Secrets that are kept outside the configuration: `env`, `file` and `exec` look them up, other plugins may contribute
 * further sources, and whoever needs one asks the service `Secrets`.
 */
import { definePlugin } from "@svc/sdk";
import { GatewayInfo } from "@svc/sdk/gateway";
import { SecretPlaces, secrets, Secrets, SecretSource } from "@svc/sdk/secrets";
import { SecretsConfig } from "./config.ts";
import { RunningSecrets } from "./running-secrets.ts";
import { createEnvSource } from "./env-source.ts";
import { createExecSource } from "./exec-source.ts";
import { createFileSource } from "./file-source.ts";
import { createLookup } from "./lookup.ts";
import { createHandlers } from "./methods.ts";

export default definePlugin({
  id: "secrets",
  api: "^1.0.0",
  config: SecretsConfig,
  requires: { places: SecretPlaces, host: GatewayInfo },
  provides: [Secrets],

  setup(gateway) {
    const { clock, log, services, signal } = gateway;
    const { places } = services;
    let current = gateway.config;
    const config = () => current;
    gateway.extend(SecretSource, "env", createEnvSource());
    gateway.extend(SecretSource, "file", createFileSource({ clock }));
    gateway.extend(SecretSource, "exec", createExecSource({ clock }));

    const lookup = createLookup({ sources: gateway.own(SecretSource), config, clock, signal });
    const runningSecrets = new RunningSecrets({ places, config, lookup, log });
    // Not the runningSecrets itself: who gets it could take it apart.
    gateway.provide(Secrets, { reveal: (setting) => runningSecrets.reveal(setting) });
    gateway.serve(secrets, createHandlers({ runningSecrets, places, log }));

    gateway.configChanged((next) => {
      current = next;
    });
    // Any section may have references. In the background: a slow vault does not hold up whoever changes the configuration.
    gateway.hooks.configChanged.tap(() => void runningSecrets.refresh());
    // Once all plugins are there: before, it is not known which references are read, nor which sources there are.
    gateway.hooks.hostReady.tap(() => void runningSecrets.refresh());
    gateway.start(() => {
      if (services.host.url !== undefined) void runningSecrets.refresh();
    });
  },
});
