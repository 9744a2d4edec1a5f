/**
 * `svc plugins why <id>`: state, reason, missing services and the next step. Works on files alone; starts no plugin.
 */
import { type Candidate, lacksOf, nextStep, pluginsHere, refuse } from "@svc/cli";
import { apiMismatch, hostServices, type MissingPlugin, type PluginSource } from "@svc/host/local";
import type { Plugin } from "@svc/sdk";
import type { CommandContext } from "@svc/sdk/cli";
import { messageOf } from "@svc/sdk/errors";
import { type Known, knownReports } from "./live.ts";

export async function explainPlugin(id: string, context: CommandContext): Promise<number> {
  const { sources, disabled, bundle, section } = await pluginsHere();
  const planned = new Set(sources.map(({ origin }) => origin));
  const outside = bundle.filter(({ origin }) => !planned.has(origin));
  const known = await knownReports(context);
  const everything = await Promise.all([
    ...sources.map((source) => candidateOf(source, known, disabled, true)),
    ...outside.map(async (source) => {
      const one = await candidateOf(source, known, disabled, false);
      return one.state === "not in use" ? { ...one, ...standIn(source, sources) } : one; // the gateway may have other variables
    }),
  ]);
  // The bundle and `plugins.use` may both list the same plugin; the planned entry takes precedence.
  const all = everything.filter((one, index) => everything.findIndex((other) => other.id === one.id) === index);
  const one = all.find((candidate) => candidate.id === id) ?? reported(id, known);
  if (!one) {
    const next = "svc plugins list, or install it and add its package or path to plugins.load.paths";
    return refuse(`no plugin "${id}" here\nNext: ${next}`, context);
  }
  const lacks = one.state === "active" ? [] : lacksOf(one, all, await hostServices());
  const next = nextStep(one, lacks, section.use?.length);
  const { state, reason, retryAt } = one;
  const { source } = known;
  if (context.json) {
    context.print({ id, state, source, reason, retryAt, waitsFor: lacks, next });
    return 0;
  }
  const lines = [
    `${id}: ${state}${source === "last start" ? " (at the last start)" : ""}`,
    ...(reason ? [`  reason     ${reason}`] : []),
    ...(retryAt === undefined ? [] : [`  retry at   ${new Date(retryAt).toISOString()}`]),
    ...lacks.flatMap(({ service, providers }) => [
      `  waits for  the service ${service}`,
      `  provided   by ${providers.map((by) => `${by.id} (${by.state})`).join(", ") || "no installed plugin"}`,
    ]),
    ...(next ? [`Next: ${next}`] : []),
  ];
  context.print(lines.join("\n"));
  return 0;
}

/** Why a plugin is not in use that stands in for another one, or for which another one stands in. */
function standIn(source: PluginSource | MissingPlugin, planned: readonly (PluginSource | MissingPlugin)[]) {
  const manifest = "load" in source ? source.manifest : undefined;
  const standsIn = planned.find((one) => "load" in one && one.manifest?.replaces?.plugin === manifest?.id);
  if (manifest?.replaces) {
    const { plugin, env } = manifest.replaces;
    const reason = `it takes the place of ${plugin} if ${env} is set, or plugins.entries.${manifest.id}.enabled is true`;
    return { reason, next: `set ${env}, then: svc gateway run` };
  }
  if (!standsIn || !("load" in standsIn) || !standsIn.manifest?.replaces) return {};
  const { id, replaces } = standsIn.manifest;
  const next = `unset ${replaces.env}, and svc config set plugins.entries.${id}.enabled false; then: svc gateway run`;
  return { reason: `${id} takes its place`, next };
}

/** Facts about a plugin from this machine and the gateway. Imports its code without running its setup. */
async function candidateOf(
  source: PluginSource | MissingPlugin,
  { source: from, reports }: Known,
  disabled: ReadonlySet<string>,
  inUse: boolean,
): Promise<Candidate> {
  if (!("load" in source)) return { id: source.origin, state: "blocked", reason: source.reason, plugin: undefined };
  const { manifest, origin } = source;
  const mismatch = manifest && apiMismatch(manifest.api);
  const loaded = mismatch ? mismatch : await importPlugin(source);
  const plugin = typeof loaded === "string" ? undefined : loaded;
  const id = plugin?.id ?? manifest?.id ?? origin;
  const report = reports.find((entry) => entry.id === id);
  if (report && (from === "gateway" || inUse)) {
    const { state, reason, retryAt } = report;
    return { id, state, plugin, ...(reason ? { reason } : {}), ...(retryAt === undefined ? {} : { retryAt }) };
  }
  if (!inUse) return { id, state: "not in use", plugin };
  if (disabled.has(id)) return { id, state: "disabled", reason: `disabled by plugins.entries.${id}.enabled`, plugin };
  if (typeof loaded === "string") return { id, state: "blocked", reason: loaded, plugin };
  return { id, state: from === "gateway" ? "not loaded" : "not started yet", plugin };
}

/** @returns the reason if it cannot be imported */
async function importPlugin(source: PluginSource): Promise<Plugin | string> {
  try {
    return await source.load();
  } catch (error) {
    return `import: ${messageOf(error)}`;
  }
}

/** A plugin known only to the gateway. */
function reported(id: string, { reports }: Known): Candidate | undefined {
  const report = reports.find((entry) => entry.id === id);
  if (!report) return undefined;
  const { state, reason, retryAt } = report;
  return { id, state, plugin: undefined, ...(reason ? { reason } : {}), ...(retryAt === undefined ? {} : { retryAt }) };
}
