/** Candidates for the next word of a command line, for the scripts of `svc completion`. Starts no gateway and runs no plugin. */
import type { Command, Option } from "commander";
import { EXIT, type Output } from "./output.ts";
import { addInstalledVerbs, createProgram } from "./program.ts";

interface Candidate {
  readonly text: string;
  readonly description: string;
}

/**
 * Prints one candidate per line. If the first argument is `--describe`, a tab and the description follow each candidate.
 * @param given after `--`: the words after `svc`, the last one unfinished
 * @returns always 0: completion must not report errors to the shell
 */
export async function printCandidates(given: readonly string[]): Promise<number> {
  const words = given.slice(given.indexOf("--") + 1);
  const describe = given[0] === "--describe";
  const silent: Output = { json: false, print: () => {}, note: () => {} };
  const act = () => Promise.resolve();
  const program = createProgram(silent, act);
  try {
    await addInstalledVerbs({ program, output: silent, act }, words);
  } catch {
    // the verbs of plugins cannot be read; complete the built-in ones
  }
  const lines = candidates(program, words).map(({ text, description }) =>
    describe ? `${text}\t${description}` : text,
  );
  if (lines.length > 0) process.stdout.write(`${lines.join("\n")}\n`);
  return EXIT.ok;
}

/** Verbs, options and fixed values that begin with the last word. Pure. */
export function candidates(program: Command, words: readonly string[]): Candidate[] {
  const before = words.slice(0, -1);
  const begun = words.at(-1) ?? "";
  const { command, waiting, args } = follow(program, before);
  const fitting = (all: readonly Candidate[]) => all.filter(({ text }) => text.startsWith(begun));
  if (before.includes("--")) return [];
  if (waiting) return fitting(values(waiting.argChoices));
  if (begun.startsWith("-")) return fitting(optionsOf(command, before));
  const verbs = command.commands.map((child) => ({ text: child.name(), description: child.description() }));
  return fitting([...verbs, ...values(command.registeredArguments[args]?.argChoices)]);
}

/** The command the words select, the option still missing its value, and the number of arguments given. */
function follow(program: Command, words: readonly string[]) {
  let command = program;
  let waiting: Option | undefined;
  let args = 0;
  for (const word of words) {
    if (waiting) {
      waiting = undefined;
    } else if (word.startsWith("-")) {
      waiting = command.options.find(({ long, short, required }) => required && (word === long || word === short));
    } else {
      const child = command.commands.find((one) => one.name() === word);
      if (child) command = child;
      else args += 1;
    }
  }
  return { command, waiting, args };
}

/** Options not given yet. */
function optionsOf(command: Command, given: readonly string[]): Candidate[] {
  const help = { text: "--help", description: "display help for command" };
  const own = command.options.flatMap(({ long, description }) => (long ? [{ text: long, description }] : []));
  return [...own, help].filter(({ text }) => !given.includes(text));
}

function values(choices: readonly string[] | undefined): Candidate[] {
  return (choices ?? []).map((text) => ({ text, description: "" }));
}
