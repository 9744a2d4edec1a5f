/** `svc plugins bisect`: which plugin makes a command fail, or keeps a gateway from being well. */
import { join } from "node:path";
import { readConfigFile } from "../../config/file.ts";
import { resolvePaths } from "../../config/paths.ts";
import { codeFacts } from "../../install/code-facts.ts";
import { isLoadable, type PluginSource } from "../../kernel/load.ts";
import { EXIT, type Output, refuse, WrongUsage } from "../output.ts";
import { plannedPlugins } from "../planned-plugins.ts";
import { firstBad, inOrder, type Suspect, withDependents } from "./bisect-order.ts";
import { type TrialOptions, tryWith, type Verdict } from "./bisect-trial.ts";

export interface BisectFlags {
  readonly timeout?: string;
}

/** @returns 0 when a culprit was found, 1 when there is none to be found */
export async function bisectPlugins(command: readonly string[], flags: BisectFlags, output: Output): Promise<number> {
  const timeout = Number(flags.timeout ?? 60);
  if (!(timeout > 0 && timeout <= 3_600)) throw new WrongUsage("--timeout is a number of seconds, up to 3600");
  const paths = resolvePaths();
  const file = await readConfigFile(paths.configPath, process.env);
  const { sources, disabled } = plannedPlugins(file, paths);
  const usable = sources.filter(isLoadable);
  output.note(`Looking at ${usable.length} plugins.`);
  const { suspects, broken } = await suspectsOf(usable, disabled);
  const [first] = broken;
  if (first) return found({ id: first.id, why: first.problem, tries: 0 }, output);

  const options: TrialOptions = { config: file.resolved, command, timeoutMs: timeout * 1_000 };
  return search(inOrder(suspects), options, output);
}

async function search(order: readonly Suspect[], options: TrialOptions, output: Output): Promise<number> {
  let tries = 0;
  const attempt = async (some: readonly Suspect[], what: string): Promise<Verdict> => {
    tries += 1;
    const verdict = await tryWith(
      some.map(({ spec }) => spec),
      options,
    );
    output.note(`try ${tries}: ${what} (${some.length}): ${verdict.isWell ? "well" : "not well"}`);
    return verdict;
  };
  const all = await attempt(order, "all plugins");
  if (all.isWell)
    return refuse(
      "With all plugins all is well, so there is nothing to find.\nNext: svc plugins list, svc plugins doctor",
      output,
    );
  const none = await attempt([], "no plugin");
  if (!none.isWell)
    return refuse(
      `Without any plugin it is not well either, so it is no plugin: ${none.words}\nNext: svc config validate`,
      output,
    );
  const words = new Map([[order.length, all.words]]);
  const index = await firstBad(order.length, async (count) => {
    const verdict = await attempt(order.slice(0, count), `up to ${order[count - 1]?.id ?? ""}`);
    words.set(count, verdict.words);
    return verdict.isWell;
  });
  const culprit = order[index];
  if (!culprit) throw new Error("the search went past the list");
  const gone = withDependents(culprit, order);
  const rest = order.filter((one) => !gone.has(one));
  const isAlone = (await attempt(rest, `all but ${[...gone].map(({ id }) => id).join(", ")}`)).isWell;
  return found({ id: culprit.id, why: words.get(index + 1) ?? "", tries, isAlone }, output);
}

interface Finding {
  readonly id: string;
  readonly why: string;
  readonly tries: number;
  /** Without it, and what needs it, all is well. */
  readonly isAlone?: boolean;
}

function found(finding: Finding, output: Output): number {
  const { id, why, isAlone } = finding;
  const others = isAlone === false ? ["Without it something is still not well: disable it, then look again."] : [];
  const lines = [`It is the plugin ${id}.`, ...(why === "" ? [] : [why]), ...others, `Next: svc plugins disable ${id}`];
  output.print(output.json ? finding : lines.join("\n"));
  return EXIT.ok;
}

interface Broken {
  readonly id: string;
  readonly problem: string;
}

/** Those that run, and those that cannot even be imported. */
async function suspectsOf(sources: readonly PluginSource[], disabled: ReadonlySet<string>) {
  const facts = await codeFacts(sources.map(entryOf));
  const suspects: Suspect[] = [];
  const broken: Broken[] = [];
  for (const [index, source] of sources.entries()) {
    const { id = source.manifest?.id ?? source.origin, provides = [], requires = [], problem } = facts[index] ?? {};
    if (disabled.has(id)) continue;
    if (problem !== undefined) broken.push({ id, problem });
    else suspects.push({ id, spec: source.manifest?.directory ?? source.key, provides, requires });
  }
  return { suspects, broken };
}

/** Of a plugin without a package the file itself. */
function entryOf({ manifest, key }: PluginSource): string {
  return manifest ? join(manifest.directory, manifest.entry) : key;
}
