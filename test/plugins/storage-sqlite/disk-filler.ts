/** Child process of full-disk.test.ts: writes until a file size limit applies, then continues without the limit. Prints the outcomes. */
import { execFileSync } from "node:child_process";
import { isGatewayError } from "@svc/sdk";
import { openStorage } from "../../../plugins/storage-sqlite/storage.ts";

const [file = ""] = process.argv.slice(2);
const { storage, close } = await openStorage({ file });
const limit = (bytes: string) => execFileSync("prlimit", ["--pid", String(process.pid), `--fsize=${bytes}:`]);
const add = (id: number) =>
  storage.transaction([{ sql: "INSERT INTO blobs VALUES (?, randomblob(20000))", params: [id] }]);
const count = async () => (await storage.get<{ count: number }>("SELECT count(*) AS count FROM blobs"))?.count;

await storage.migrate("filler", ["CREATE TABLE blobs (id INTEGER PRIMARY KEY, bytes BLOB)"]);
await storage.migrate("events", ["CREATE TABLE events (id INTEGER PRIMARY KEY, text TEXT)"]);
limit("1000000");
const note = (id: number) =>
  storage.append([{ sql: "INSERT INTO events VALUES (?, ?)", params: [id, "x".repeat(20_000)] }]);
let noted = 0;
for (; noted < 1_000; noted += 1)
  if (
    await note(noted).then(
      () => false,
      () => true,
    )
  )
    break;
const events = async () => (await storage.get<{ count: number }>("SELECT count(*) AS count FROM events"))?.count ?? 0;
const isReadable = (await events()) <= noted;
limit("2000000"); // room for some
let acknowledged = 0;
let refusal: unknown;
for (; acknowledged < 1_000; acknowledged += 1) {
  refusal = await add(acknowledged).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (refusal !== undefined) break;
}
const together = await Promise.allSettled([add(2_001), add(2_002), add(2_003)]);
const during = { count: await count(), refused: together.filter(({ status }) => status === "rejected").length };
limit("unlimited");
await add(3_000);
const after = await count();
await note(3_000);
const eventsAfter = await events();
await close();
const { code, retryAfterMs } = isGatewayError(refusal) ? refusal : { code: String(refusal), retryAfterMs: undefined };
process.stdout.write(
  JSON.stringify({ acknowledged, code, retryAfterMs, during, after, noted, isReadable, eventsAfter }),
);
