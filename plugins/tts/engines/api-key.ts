/** The key of a service: from the configuration, from a secret reference, or from the environment. */
import { type Live, unavailable } from "@svc/sdk";
import { revealSetting, type SecretRef, type Secrets } from "@svc/sdk/secrets";

export interface KeySource {
  /** Whether a key is set; a reference counts without being resolved. */
  isSet(): boolean;
  /** @throws GatewayError `UNAVAILABLE` naming the reference and the next step, never the value */
  reveal(): Promise<string>;
}

interface KeyPlace {
  /** Path of the setting. */
  readonly setting: string;
  readonly configured: () => string | SecretRef | undefined;
  readonly variable: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly secrets: Live<Secrets>;
}

export function createKey({ setting, configured, variable, environment, secrets }: KeyPlace): KeySource {
  const fallback = () => environment[variable]?.trim() || undefined;
  return {
    isSet: () => (configured() ?? fallback()) !== undefined,
    async reveal() {
      const key = configured() ?? fallback();
      if (key === undefined) return unavailable(`set ${setting} or the variable ${variable}`);
      return revealSetting(key, secrets.get(), setting);
    },
  };
}
