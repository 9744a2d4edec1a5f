/** Finds configured model references that cannot be used. Pure. */
import { type ConfigView, type ConfigWarning, isGatewayError } from "@svc/sdk";
import { ModelFacts, ModelProvider } from "@svc/sdk/models";
import { buildCatalogue, type Kind, pickModel } from "./catalogue.ts";
import { createFactBook } from "./facts.ts";
import { localServers } from "./servers.ts";
import type { ModelsConfig } from "../config.ts";
import { valuesAt } from "./places.ts";

/** Keys with a model reference, alone or with fallbacks. `[]` stands for each item of a list. */
const PLACES = [
  "models.default",
  "agents.defaults.model",
  "agents.defaults.imageModel",
  "agents.defaults.pdfModel",
  "agents.defaults.heartbeat.model",
  "agents.defaults.subagents.model",
  "agents.list[].model",
  "agents.list[].heartbeat.model",
  "agents.list[].subagents.model",
  "hooks.gmail.model",
  "hooks.mappings[].model",
  "tools.media.model",
];

/** Choice: no warning for a reference to a provider whose models are unknown until the provider runs. */
export function unusableModels({ config, contributions }: ConfigView): ConfigWarning[] {
  const known = contributions(ModelProvider);
  if (!known) return [];
  const kinds = known.map(({ id, value }): Kind => ({ id, ...(value as Omit<Kind, "id"> | undefined) })); // data of a ModelProvider
  const [[, models] = []] = valuesAt(config, "models");
  const section = models as ModelsConfig; // the plugin's own section, which is valid
  const facts = (contributions(ModelFacts) ?? []).flatMap(({ value }) => (value ? [value as ModelFacts] : [])); // data only
  const catalogue = buildCatalogue(section, kinds, { facts: createFactBook(facts), local: localServers(section) });
  const [[, allowed] = []] = valuesAt(config, "agents.defaults.models");
  const entries = Object.entries(Object(allowed) as Readonly<Record<string, { alias?: string }>>); // section of the plugin agents
  const policy = entries.length > 0 ? new Map(entries) : undefined;
  const unsure = known.flatMap(({ id, value }) => (value === undefined ? [id] : []));
  const mayBeBuiltin = (ref: string) =>
    unsure.length > 0 && (!ref.includes("/") || unsure.some((kind) => ref.startsWith(`${kind}/`)));
  return PLACES.flatMap((place) => valuesAt(config, place))
    .flatMap(([path, value]) => refsIn(path, value))
    .filter(([, ref]) => !mayBeBuiltin(ref))
    .flatMap(([path, ref]): ConfigWarning[] => {
      try {
        pickModel(catalogue, policy, ref);
        return [];
      } catch (error) {
        if (!isGatewayError(error)) throw error;
        return [{ path, message: error.message, breaks: true }];
      }
    });
}

/** The references of a setting, each with its path. */
function refsIn(path: string, value: unknown): [path: string, ref: string][] {
  if (typeof value === "string") return value.trim() === "" ? [] : [[path, value]];
  const { primary, fallbacks = [] } = Object(value) as { primary?: unknown; fallbacks?: readonly unknown[] }; // as in the section of agents
  return [
    ...(typeof primary === "string" ? [[`${path}.primary`, primary] as [string, string]] : []),
    ...fallbacks.map((ref, index): [string, string] => [`${path}.fallbacks[${index}]`, String(ref)]),
  ];
}
