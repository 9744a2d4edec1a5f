/** One configuration of several gateways: what the host and the plugin that keeps its text owe each other. */
import { defineService } from "../service.ts";

/** The configuration in a database. */
export interface KeptConfig {
  /** Grows by one with each change. */
  readonly revision: number;
  /** JSON5. `undefined`: each gateway uses a file of its own. */
  readonly text: string | undefined;
}

/** Keeps the text for all gateways. Everything throws GatewayError `UNAVAILABLE` while the database cannot be reached. */
export interface ConfigKeeper {
  /** Dotted paths of the values with which this gateway has found the database: a text with other values is refused here. */
  readonly foundBy: readonly string[];
  read(): Promise<KeptConfig>;
  /** As in `read`, without the text. */
  revision(): Promise<number>;
  /**
   * Durably replaces the text. @param base the revision that the change is based on @returns whether it did; `false`: another gateway has changed
   * the text since
   */
  replace(base: number, text: string | undefined): Promise<boolean>;
}

/** The host's part. */
export interface SharedConfig {
  /**
   * From now on, the configuration is the kept text, if there is one, and the file of this gateway is a copy of it.
   * @returns ends it: until the next `join`, the configuration can be read but not changed
   */
  join(keeper: ConfigKeeper): () => void;
}

/** Token of the service. */
export const SharedConfig = defineService<SharedConfig>()("gateway.shared-config", "1.0.0", {
  summary:
    "Uses one configuration for all gateways on one state. Provided by the host; used by a storage plugin that several gateways share.",
});
