/** Child process of durability.test.ts: eight concurrent writers, half of which append; prints each id after its transaction was confirmed. */
import { writeSync } from "node:fs";
import { openStorage } from "../../../plugins/storage-sqlite/storage.ts";

const [file = "", round = ""] = process.argv.slice(2);
const { storage } = await openStorage({ file });
await storage.migrate("writer", ["CREATE TABLE acknowledged (id TEXT PRIMARY KEY, twin TEXT NOT NULL)"]);

async function write(writer: number): Promise<never> {
  for (let n = 0; ; n += 1) {
    const id = `${round}-${writer}-${n}`;
    const insert = { sql: "INSERT INTO acknowledged VALUES (?, '')", params: [id] };
    const update = { sql: "UPDATE acknowledged SET twin = twin || ? WHERE id = ?", params: [id, id] };
    if (writer % 2 === 0) await storage.append([insert, update]);
    else await storage.transaction([insert, { ...update, expectChanges: 1 }]);
    writeSync(1, `${id}\n`); // at once, also when the next instant is the last
  }
}

await Promise.all(Array.from({ length: 8 }, (_, writer) => write(writer)));
