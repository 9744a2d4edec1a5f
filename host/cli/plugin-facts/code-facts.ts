/** Reads what the code of plugins declares, in a disposable process: importing a plugin may end the process. */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { matches, type Static, Type } from "@svc/sdk";

/** Request to the process: the files to import, in this order. */
export interface FactsOrder {
  readonly files: readonly string[];
}

/** What one file exports. Services are listed by id. */
export const CodeFacts = Type.Object({
  file: Type.String(),
  id: Type.Optional(Type.String()),
  provides: Type.Array(Type.String()),
  requires: Type.Array(Type.String()),
  /** Why it cannot be imported. */
  problem: Type.Optional(Type.String()),
});
export type CodeFacts = Static<typeof CodeFacts>;

/** Milliseconds to wait for the next result. */
const PATIENCE = 30_000;

/** @returns one result per file, in the same order */
export async function codeFacts(files: readonly string[]): Promise<CodeFacts[]> {
  const found: CodeFacts[] = [];
  while (found.length < files.length) {
    found.push(...(await factsOfSome(files.slice(found.length))));
    const next = files[found.length];
    if (next !== undefined)
      found.push({ file: next, provides: [], requires: [], problem: "importing it ends or blocks the process" });
  }
  return found;
}

/** Results until the process ends; normally all of them. */
function factsOfSome(files: readonly string[]): Promise<CodeFacts[]> {
  const found: CodeFacts[] = [];
  const child = fork(fileURLToPath(new URL("./code-facts-process.js", import.meta.url)), [], {
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  const stop = () => child.kill("SIGKILL");
  let timer = setTimeout(stop, PATIENCE);
  return new Promise((resolve, reject) => {
    child.on("message", (message) => {
      clearTimeout(timer);
      if (matches(CodeFacts, message)) found.push(message);
      if (found.length === files.length) stop();
      else timer = setTimeout(stop, PATIENCE);
    });
    child.once("error", reject);
    child.once("close", () => {
      clearTimeout(timer);
      resolve(found);
    });
    child.send({ files } satisfies FactsOrder, () => undefined); // "close" reports a process that is gone
  });
}
