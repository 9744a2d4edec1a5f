/** Main file of a separate process: imports plugins as the gateway would, and reports what their code declares. */
import { isPlugin, messageOf } from "@svc/sdk";
import { importModule, tokenOf } from "@svc/host/local";
import type { CodeFacts, FactsOrder } from "./code-facts.ts";

// Sent by code-facts.ts.
process.once("message", (order: FactsOrder) => void tellFacts(order));

async function tellFacts({ files }: FactsOrder): Promise<void> {
  for (const file of files) process.send?.(await factsOf(file));
}

async function factsOf(file: string): Promise<CodeFacts> {
  const nothing = { file, provides: [], requires: [] };
  try {
    const { default: plugin } = (await importModule(file, false)) as { default?: unknown };
    if (!isPlugin(plugin)) return { ...nothing, problem: "it does not export a plugin" };
    const requires = Object.values(plugin.requires ?? {}).map((requirement) => tokenOf(requirement).token.id);
    return { file, id: plugin.id, provides: (plugin.provides ?? []).map(({ id }) => id), requires };
  } catch (error) {
    return { ...nothing, problem: messageOf(error) };
  }
}
