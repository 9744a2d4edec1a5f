/** A block of the event loop that is over, and the words for it. */

/** How long, and by what. */
export interface Blocked {
  /** Milliseconds */
  readonly ms: number;
  /** Where the code stood after a second, innermost call first; empty: it could not be seen. */
  readonly stack: readonly string[];
}

/** As a failure of whoever did it; its stack is theirs. */
export function errorOf({ ms, stack }: Blocked): Error {
  const at = stack.find((call) => !call.includes("(node:")) ?? stack[0]; // what the runtime does there says less
  const error = new Error(`blocked the event loop for ${(ms / 1_000).toFixed(1)} s${at ? `, at ${at}` : ""}`);
  error.stack = [`Error: ${error.message}`, ...stack.map((call) => `    at ${call}`)].join("\n");
  return error;
}
