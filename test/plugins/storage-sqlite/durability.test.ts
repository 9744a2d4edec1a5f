// long: kills processes
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { DatabaseSync } from "@photostructure/sqlite";
import { openStorage } from "../../../plugins/storage-sqlite/storage.ts";
import { tempDirectory } from "./temp-directory.ts";

const ROUNDS = 16;
const script = fileURLToPath(new URL("./durable-writer.js", import.meta.url));

/** Ids printed by a writer that is killed `delayMs` after its first one. */
async function writeUntilKilled(file: string, round: string, delayMs: number): Promise<string[]> {
  const child = spawn(process.execPath, [script, file, round], { stdio: ["ignore", "pipe", "inherit"] });
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text));
  const closed = once(child, "close");
  await once(child.stdout, "data");
  await sleep(delayMs);
  child.kill("SIGKILL");
  const [, signal] = await closed;
  assert.equal(signal, "SIGKILL");
  return printed.split("\n").slice(0, -1); // the last piece is empty or cut off
}

describe("a gateway that is killed while it writes", () => {
  it("has everything that was acknowledged, each transaction whole, and serves at once", async (t) => {
    const file = join(tempDirectory(t), "svc.db");
    const acknowledged: string[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const delayMs = Math.floor(Math.random() * 120);
      const writers = round % 4 === 3 ? ["a", "b"] : ["a"]; // sometimes two processes
      const texts = await Promise.all(writers.map((name) => writeUntilKilled(file, `${round}${name}`, delayMs)));
      const printed = texts.flat();
      assert.ok(texts.every(({ length }) => length > 0));
      acknowledged.push(...printed);
      t.diagnostic(`round ${round}: killed after ${delayMs} ms and ${printed.length} acknowledged transactions`);

      const { storage, close } = await openStorage({ file });
      const rows = await storage.all<{ id: string; twin: string }>("SELECT id, twin FROM acknowledged");
      await close();
      const stored = new Set(rows.map(({ id }) => id));
      assert.deepEqual(
        acknowledged.filter((id) => !stored.has(id)),
        [],
        "lost",
      );
      assert.deepEqual(
        rows.filter(({ id, twin }) => id !== twin),
        [],
        "half a transaction",
      );
    }
    const database = new DatabaseSync(file);
    t.after(() => database.close());
    assert.deepEqual({ ...database.prepare("PRAGMA integrity_check").get() }, { integrity_check: "ok" });
  });
});
