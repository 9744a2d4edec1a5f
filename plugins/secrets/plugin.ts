/**
 * Secrets stored outside the configuration. The sources `env`, `file` and `exec` look them up, other plugins may contribute
 * further sources, and plugins read secrets through the service `Secrets`.
 */
import { definePlugin } from "@svc/sdk";
import { GatewayInfo } from "@svc/sdk/gateway";
import { Importer } from "@svc/sdk/import";
import { SecretPlaces, secrets, Secrets, SecretSource } from "@svc/sdk/secrets";
import { SecretsConfig } from "./config.ts";
import { RunningSecrets } from "./running-secrets.ts";
import { createEnvSource } from "./env-source.ts";
import { createExecSource } from "./exec-source.ts";
import { createFileSource } from "./file-source.ts";
import { createLookup } from "./lookup.ts";
import { createImporter } from "./importer.ts";
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
    gateway.extend(Importer, "secret", createImporter(services.host));

    const lookup = createLookup({ sources: gateway.own(SecretSource), config, clock, signal });
    const runningSecrets = new RunningSecrets({ places, config, lookup, log });
    // Exposes `reveal` only: other members of RunningSecrets are not for other plugins.
    gateway.provide(Secrets, { reveal: (setting) => runningSecrets.reveal(setting) });
    gateway.serve(secrets, createHandlers({ runningSecrets, places, log }));

    gateway.configChanged((next) => {
      current = next;
    });
    // Any section may have references. Runs in the background, so that a slow vault does not delay the change.
    gateway.hooks.configChanged.tap(() => void runningSecrets.refresh());
    // Only after all plugins have started is it known which references are read and which sources exist.
    gateway.hooks.hostReady.tap(() => void runningSecrets.refresh());
    gateway.start(() => {
      if (services.host.url !== undefined) void runningSecrets.refresh();
    });
  },
});
