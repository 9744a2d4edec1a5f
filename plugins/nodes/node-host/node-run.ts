/** `svc node run`: runs the node program in the foreground. */
import type { CommandContext } from "@svc/sdk/cli";
import { runNodeProgram } from "./node-program.ts";
import { type NodeState, stateLine } from "./node-states.ts";
import { nodeTarget } from "./target.ts";

/** Runs until SIGINT or SIGTERM; a second signal exits at once. @returns the exit code */
export async function nodeRun(context: CommandContext): Promise<number> {
  const { name, insecure } = context.options;
  const target = nodeTarget(await context.target(), insecure === true);
  const ending = new AbortController();
  const stop = () => {
    if (ending.signal.aborted) process.exit(130);
    ending.abort();
  };
  process.on("SIGINT", stop).on("SIGTERM", stop);
  try {
    const code = await runNodeProgram({
      target,
      stateDir: context.stateDir,
      ...(typeof name === "string" ? { displayName: name } : {}),
      report: (state: NodeState) => context.print(context.json ? state : stateLine(state)),
      signal: ending.signal,
    });
    // A hanging connect must not keep a stopped program running.
    setTimeout(() => process.exit(code), LINGER_MS).unref();
    return code;
  } finally {
    process.off("SIGINT", stop).off("SIGTERM", stop);
  }
}

const LINGER_MS = 500;
