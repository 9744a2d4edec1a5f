/** Configuration sections a plugin owns, known from its static part. */
import { type TSchema, Type } from "@svc/sdk";
import { defineKind, type PluginFacts } from "../kind.ts";

export const sections = defineKind<never>({
  name: "sections",
  noun: "section",
  shape: Type.Object({
    name: Type.String(),
    isMain: Type.Boolean({ description: "the main section, not a further one" }),
  }),
  describe: (entry) => entry, // none is ever recorded
  known: ({ plugin }) =>
    Object.keys(sectionsOf(plugin)).map((name) => ({
      name,
      isMain: plugin?.config !== undefined && name === mainOf(plugin),
    })),

  listing: {
    key: "section",
    read: ({ section, id }) => [section ?? id],
    value: ({ name, isMain }) => (isMain === true ? name : undefined),
    written: ([section], id) => (section === id ? undefined : section),
    refused: "never",
  },
});

const mainOf = ({ section, id }: PluginFacts) => section ?? id;

/** Schemas of all sections of a plugin, by key; empty while the plugin is not loaded. */
export function sectionsOf(plugin: PluginFacts | undefined): Record<string, TSchema> {
  if (!plugin) return {};
  return { ...(plugin.config ? { [mainOf(plugin)]: plugin.config } : {}), ...plugin.sections };
}
