/** The `ModelPolicy` service: `agents.defaults.models`, and the default agent's model. */
import type { ModelPolicy } from "@svc/sdk/services";
import type { ConfiguredAgents } from "./directory.ts";

/** Choice: an empty map restricts nothing, as without the key: it names no model that could be used instead. */
export function createModelPolicy(agents: Pick<ConfiguredAgents, "config" | "settings" | "defaultId">): ModelPolicy {
  return {
    allowed() {
      const entries = Object.entries(agents.config.defaults.models ?? {});
      if (entries.length === 0) return undefined;
      return new Map(entries.map(([ref, { alias }]) => [ref, alias === undefined ? {} : { alias }]));
    },
    primary: () => agents.settings(agents.defaultId).models[0],
  };
}
