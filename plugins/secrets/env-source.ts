/** The source `env`: secrets in environment variables of the gateway. Spec: http/config.md §6. */
import type { SecretSource } from "@svc/sdk/secrets";
import { EnvSettings, problemOf, settingsOf, VARIABLE } from "./source-settings.ts";

/** @param env read at each lookup. Default: the environment of the process */
export function createEnvSource(env: Readonly<Record<string, string | undefined>> = process.env): SecretSource {
  return {
    check: (provider) => problemOf(EnvSettings, provider),

    checkId(id, provider) {
      if (!new RegExp(VARIABLE, "u").test(id)) {
        return "the id must be the name of a variable: capital letters, digits and _, starting with a letter";
      }
      const { allowlist } = settingsOf(EnvSettings, provider);
      if (!allowlist || allowlist.includes(id)) return undefined;
      return `secrets.providers.${provider.name}.allowlist does not contain this variable; add it there, or use another variable`;
    },

    // Choice: an empty variable counts as missing, as in the rest of the configuration.
    resolve: (_provider, ids) => {
      const found = ids.flatMap((id) => {
        const value = Object.hasOwn(env, id) ? env[id] : undefined;
        return value ? [[id, value] as const] : [];
      });
      return Promise.resolve(new Map(found));
    },
  };
}
