/** What the code of plugins says of itself, found out in a process that is thrown away: some of it may end its process. */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { matches, type Static, Type } from "@svc/sdk";

/** What the process is asked: to import these, one after the other. */
export interface FactsOrder {
  readonly files: readonly string[];
}

/** What one file exports. Services by id. */
export const CodeFacts = Type.Object({
  file: Type.String(),
  id: Type.Optional(Type.String()),
  provides: Type.Array(Type.String()),
  requires: Type.Array(Type.String()),
  /** Why it cannot be imported. */
  problem: Type.Optional(Type.String()),
});
export type CodeFacts = Static<typeof CodeFacts>;

/** Milliseconds in which something has to come. */
const PATIENCE = 30_000;

/** One for each file, in their order. */
export async function codeFacts(files: readonly string[]): Promise<CodeFacts[]> {
  const found: CodeFacts[] = [];
  while (found.length < files.length) {
    found.push(...(await factsOfSome(files.slice(found.length))));
    const next = files[found.length];
    if (next !== undefined)
      found.push({ file: next, provides: [], requires: [], problem: "it ends or stops the process that imports it" });
  }
  return found;
}

/** Until the process ends; all of them, when it is well. */
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
    child.send({ files } satisfies FactsOrder, () => undefined); // a process that is gone is told by its end
  });
}
