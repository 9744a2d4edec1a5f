/** Asks for a text in the terminal; a secret is not shown. */
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import type { CommandContext } from "@svc/sdk/cli";

export async function askText(
  question: string,
  { input, output }: Pick<CommandContext, "input" | "output">,
  isSecret: boolean,
): Promise<string> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({ input, output: isSecret ? silent : output, terminal: true });
  if (isSecret) output.write(question);
  try {
    return (await reader.question(isSecret ? "" : question)).trim();
  } finally {
    reader.close();
    if (isSecret) output.write("\n");
  }
}
