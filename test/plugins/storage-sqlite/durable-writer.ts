/** Child process of durability.test.ts: eight concurrent writers; prints each id after its transaction was confirmed. */
import { writeSync } from "node:fs";
import { openStorage } from "../../../plugins/storage-sqlite/storage.ts";

const [file = "", round = ""] = process.argv.slice(2);
const { storage } = await openStorage({ file });
await storage.migrate("writer", ["CREATE TABLE acknowledged (id TEXT PRIMARY KEY, twin TEXT NOT NULL)"]);

async function write(writer: number): Promise<never> {
  for (let n = 0; ; n += 1) {
    const id = `${round}-${writer}-${n}`;
    await storage.transaction([
      { sql: "INSERT INTO acknowledged VALUES (?, '')", params: [id] },
      { sql: "UPDATE acknowledged SET twin = ? WHERE id = ?", params: [id, id], expectChanges: 1 },
    ]);
    writeSync(1, `${id}\n`); // at once, also when the next instant is the last
  }
}

await Promise.all(Array.from({ length: 8 }, (_, writer) => write(writer)));
