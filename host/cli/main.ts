/** The command `svc`: one command line in, one exit code out. */
import { CommanderError } from "commander";
import { createOutput, EXIT, reportFailure } from "./output.ts";
import { addInstalledVerbs, createProgram } from "./program.ts";

/** First words whose verbs are all built in: for these no plugin's package.json is even read. */
const BUILT_IN = [
  /^gateway (run|call)\b/,
  /^plugins (list|inspect|reload|why)\b/,
  /^config (get|set|unset|file|validate|schema|diff)\b/,
  /^completion\b/,
  /^--version\b/,
];

/** What the scripts of `svc completion` ask; no verb, since shells and not people call it. */
const COMPLETE = ["completion", "--complete"];

/** Runs one command line (without `node` and the script). @returns the exit code */
export async function main(argv: readonly string[]): Promise<number> {
  if (COMPLETE.every((word, index) => argv[index] === word)) {
    return (await import("./completion.ts")).printCandidates(argv.slice(COMPLETE.length));
  }
  let exitCode: number = EXIT.ok;
  const output = createOutput(argv.includes("--json"));
  const act = async (action: () => Promise<number> | number) => {
    exitCode = await action();
  };
  const program = createProgram(output, act);
  try {
    if (!BUILT_IN.some((pattern) => pattern.test(argv.join(" "))) || argv.includes("--help") || argv.includes("-h"))
      await addInstalledVerbs({ program, output, act }, argv);
    await program.parseAsync([...argv], { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    return reportFailure(error, output);
  }
  return exitCode;
}

process.exitCode = await main(process.argv.slice(2));
