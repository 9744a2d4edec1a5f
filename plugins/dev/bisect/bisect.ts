/** `svc plugins bisect`: finds the plugin that makes a command fail or keeps a gateway from running properly. */
import { EXIT, plannedStart, refuse } from "@svc/cli";
import type { CommandContext } from "@svc/sdk/cli";
import { firstBad, inOrder, type Suspect, withDependents } from "./order.ts";
import { type TrialOptions, tryWith, type Verdict } from "./trial.ts";

export interface BisectFlags {
  readonly timeout?: string;
}

/** @returns 0 if a culprit was found, otherwise 1 */
export async function bisectPlugins(
  command: readonly string[],
  flags: BisectFlags,
  output: CommandContext,
): Promise<number> {
  const timeout = Number(flags.timeout ?? 60);
  if (!(timeout > 0 && timeout <= 3_600))
    return refuse(
      "--timeout must be a number of seconds, at most 3600\nNext: svc plugins bisect --help",
      output,
      EXIT.usage,
    );
  const { config, plugins } = await plannedStart();
  output.note(`Checking ${plugins.length} plugins.`);
  const broken = plugins.find(({ problem }) => problem !== undefined);
  if (broken) return found({ id: broken.id, why: broken.problem ?? "", tries: 0 }, output);
  return search(inOrder(plugins), { config, command, timeoutMs: timeout * 1_000 }, output);
}

async function search(order: readonly Suspect[], options: TrialOptions, output: CommandContext): Promise<number> {
  let tries = 0;
  const attempt = async (some: readonly Suspect[], what: string): Promise<Verdict> => {
    tries += 1;
    const verdict = await tryWith(
      some.map(({ spec }) => spec),
      options,
    );
    output.note(`try ${tries}: ${what} (${some.length}): ${verdict.isWell ? "passed" : "failed"}`);
    return verdict;
  };
  const all = await attempt(order, "all plugins");
  if (all.isWell)
    return refuse(
      "With all plugins the check passes, so there is nothing to find.\nNext: svc plugins list, svc plugins doctor",
      output,
    );
  const none = await attempt([], "no plugin");
  if (!none.isWell)
    return refuse(
      `The check also fails without any plugin, so no plugin is the cause: ${none.words}\nNext: svc config validate`,
      output,
    );
  const words = new Map([[order.length, all.words]]);
  const index = await firstBad(order.length, async (count) => {
    const verdict = await attempt(order.slice(0, count), `up to ${order[count - 1]?.id ?? ""}`);
    words.set(count, verdict.words);
    return verdict.isWell;
  });
  const culprit = order[index];
  if (!culprit) throw new Error("the bisection found an index outside of the list of plugins");
  const gone = withDependents(culprit, order);
  const rest = order.filter((one) => !gone.has(one));
  const isAlone = (await attempt(rest, `all except ${[...gone].map(({ id }) => id).join(", ")}`)).isWell;
  return found({ id: culprit.id, why: words.get(index + 1) ?? "", tries, isAlone }, output);
}

interface Finding {
  readonly id: string;
  readonly why: string;
  readonly tries: number;
  /** Without the culprit and its dependents, the check passes. */
  readonly isAlone?: boolean;
}

function found(finding: Finding, output: CommandContext): number {
  const { id, why, isAlone } = finding;
  const others = isAlone === false ? [`Without ${id} the check still fails: disable ${id}, then bisect again.`] : [];
  const lines = [
    `The cause is the plugin ${id}.`,
    ...(why === "" ? [] : [why]),
    ...others,
    `Next: svc plugins disable ${id}`,
  ];
  output.print(output.json ? finding : lines.join("\n"));
  return 0;
}
