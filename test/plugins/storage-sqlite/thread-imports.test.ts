/** The database thread imports almost nothing, because every start waits for it. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { root } from "../../checkout.ts";

/** Packages imported at load time by a built file and the files next to it. */
async function packagesOf(file: string): Promise<string[]> {
  const text = await readFile(join(root, "plugins/storage-sqlite/dist", file), "utf8");
  const names = [...text.matchAll(/^(?:import|\} from) ?[^"]*"([^"]+)";$/gm)].flatMap(([, name]) => name ?? []);
  const own = names.filter((name) => name.startsWith("./"));
  const others = await Promise.all(own.map((name) => packagesOf(name.slice(2))));
  return [...new Set([...names.filter((name) => !/^(\.\/|node:)/.test(name)), ...others.flat()])];
}

it("the database thread imports the database and the checks of statements, and nothing else", async () => {
  assert.deepEqual((await packagesOf("worker.js")).sort(), ["@photostructure/sqlite", "@svc/kit/sql"]);
});
