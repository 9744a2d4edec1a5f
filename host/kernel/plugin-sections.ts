/** The sections of the configuration that a plugin owns. */
import type { Plugin, TSchema } from "@svc/sdk";

/** With their schemas; none of a plugin that is not loaded. */
export function sectionsOf(plugin: Plugin | undefined): Record<string, TSchema> {
  if (!plugin) return {};
  return { ...(plugin.config ? { [plugin.section ?? plugin.id]: plugin.config } : {}), ...plugin.sections };
}
