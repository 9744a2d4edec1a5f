/** One plugin in full: what its package says, what it declared, where it runs. Pure. */
import type { PluginDeclares, PluginInspection, PluginReport } from "@svc/sdk/services";
import { tokenOf } from "./graph.ts";
import type { PluginInstance } from "./instance.ts";
import { sectionsOf } from "./plugin-sections.ts";
import type { Registry } from "./registry.ts";

export function inspectionOf(instance: PluginInstance, plugin: PluginReport, registry: Registry): PluginInspection {
  const { manifest, source } = instance;
  const { description, directory, permissions, isolation } = manifest ?? {};
  return {
    plugin,
    stats: instance.stats(),
    package: {
      origin: source.origin,
      ...(directory ? { directory } : {}),
      ...(description === undefined ? {} : { description }),
    },
    ...(permissions ? { permissions } : {}),
    placements: {
      now: instance.placement,
      supports: isolation?.supports ?? ["host"],
    },
    declares: declaresOf(instance, registry),
  };
}

function declaresOf({ current, plugin, manifest }: PluginInstance, registry: Registry): PluginDeclares {
  const declared = current?.declarations;
  const requirements = Object.values(plugin?.requires ?? {});
  return {
    methods: declared?.methods.map(({ method: { name, scope } }) => ({ name, scope })) ?? [],
    events: declared?.events.map(({ event }) => event.name) ?? [],
    routes: declared?.routes.map(({ route: { method, path, auth } }) => ({ method, path, auth })) ?? [],
    hooks: declared?.taps.map(({ spec, key }) => (key === undefined ? spec.name : `${spec.name}:${key}`)) ?? [],
    emits: declared?.emittedHooks.map(({ name }) => name) ?? [],
    services: plugin?.provides?.map(({ id, version }) => ({ id, version })) ?? [],
    requires: requirements.map((requirement) => {
      const { token } = tokenOf(requirement);
      const provider = registry.providerOf(token.id);
      return {
        id: token.id,
        version: token.version,
        kind: requirement.kind === "service" ? "hard" : requirement.kind,
        ...(provider === undefined ? {} : { provider }),
      };
    }),
    extensions: declared?.extensions.map(({ point, id }) => ({ point, id })) ?? [],
    points: declared?.ownedPoints.map(({ id }) => id) ?? [],
    sections: Object.keys(sectionsOf(plugin)),
    commands: manifest?.commands?.map(({ name, summary }) => ({ name, summary })) ?? [],
  };
}
