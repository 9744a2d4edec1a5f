/** The command `svc`: one command line in, one exit code out. */
import { type Command, CommanderError } from "commander";
import { createOutput, EXIT, refuse, reportFailure } from "./output.ts";
import { addInstalledVerbs, createProgram } from "./program.ts";

/** Command line that the scripts of `svc completion` run. Not a verb: only shells call it. */
const COMPLETE = ["completion", "--complete"];

/** Runs one command line (without `node` and the script). @returns the exit code */
export async function main(argv: readonly string[]): Promise<number> {
  if (COMPLETE.every((word, index) => argv[index] === word)) {
    return (await import("./completion.ts")).printCandidates(argv.slice(COMPLETE.length));
  }
  let exitCode: number = EXIT.ok;
  const ownWords = argv.includes("--") ? argv.slice(0, argv.indexOf("--")) : argv; // words after -- belong to another program
  const output = createOutput(ownWords.includes("--json"));
  const act = async (action: () => Promise<number> | number) => {
    exitCode = await action();
  };
  const program = createProgram(output, act);
  try {
    if (!isComplete(program, argv) || ownWords.includes("--help") || ownWords.includes("-h"))
      await addInstalledVerbs({ program, output, act }, argv);
    if (!isComplete(program, argv)) {
      const [word = ""] = argv;
      const absent = (await import("./plugin-verbs.ts")).missingCompanion(word);
      if (absent !== undefined)
        return refuse(
          `svc ${word} needs the package ${absent}, which is not installed here\nNext: run npm install ${absent} next to this gateway; for a trimmed gateway, run svc trim again with that plugin`,
          output,
        );
    }
    await program.parseAsync([...argv], { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    return reportFailure(error, output, `svc ${verbIn(program, argv)}--help`);
  }
  return exitCode;
}

/** The words that name the verb, each followed by a space. */
function verbIn(command: Command, [word, ...rest]: readonly string[]): string {
  const child = command.commands.find((one) => one.name() === word);
  return child ? `${child.name()} ${verbIn(child, rest)}` : "";
}

/** Whether the words name a built-in verb or are `--version`; then no plugin's package.json is read. */
function isComplete(command: Command, [word, ...rest]: readonly string[]): boolean {
  if (word === "--version") return true;
  const child = command.commands.find((one) => one.name() === word);
  return child !== undefined && (child.commands.length === 0 || isComplete(child, rest));
}

/** A reader may close the pipe early (`svc plugins list | head -1`): a verb then exits, but a gateway keeps running. */
function readerGone(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPIPE") throw error;
  if (process.argv[2] !== "gateway" || process.argv[3] !== "run") process.exit();
}

process.stdout.on("error", readerGone);
process.exitCode = await main(process.argv.slice(2));
