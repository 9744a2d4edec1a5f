/** Every verb of `svc` with its summary, for the reference. Imports no command file of a plugin. */
import type { Command } from "commander";
import type { Output } from "./output.ts";
import { addInstalledVerbs, createProgram } from "./program.ts";

/** One verb. */
export interface VerbSummary {
  /** Words after `svc`, e.g. `gateway run`. */
  readonly name: string;
  readonly summary: string;
}

/** The built-in verbs, and those of the plugins that are installed here. Groups of verbs are left out. */
export async function allVerbs(): Promise<VerbSummary[]> {
  const output: Output = { json: false, print: () => {}, note: () => {} };
  const act = () => Promise.resolve();
  const program = createProgram(output, act);
  await addInstalledVerbs({ program, output, act }, []);
  return verbsOf(program, "");
}

function verbsOf({ commands }: Command, before: string): VerbSummary[] {
  return commands.flatMap((command) => {
    const name = before + command.name();
    if (command.commands.length > 0) return verbsOf(command, `${name} `);
    return [{ name, summary: command.description() }];
  });
}
