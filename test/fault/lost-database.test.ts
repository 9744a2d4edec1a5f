/** A database that is emptied, removed or damaged between two runs: the gateway reports it, serves what needs no database, and creates no new one; `svc doctor` reports it too. */
import assert from "node:assert/strict";
import { cp, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { chat } from "@svc/sdk/chat";
import { agents } from "@svc/sdk/agents";
import { startGatewayProcess } from "../gateway-process.ts";
import { svc } from "../run-svc.ts";
import { directory } from "../directory.ts";

const DATABASE = "plugins/storage-sqlite/svc.db";

/** The damage to the files, the resulting log line, and the finding of `svc doctor`. */
const LOSSES: Record<
  string,
  { readonly lose: (file: string) => Promise<unknown>; readonly told: RegExp; readonly found: RegExp }
> = {
  "emptied, its log gone": {
    lose: async (file) => {
      await truncate(file);
      await rm(`${file}-wal`, { force: true });
    },
    found: /svc\.db: it held data and is now empty/,
    told: /svc\.db held data and is now empty; restore a backup of it, or delete .+svc\.db\.holds-data to start without data/,
  },
  "removed, its log gone": {
    lose: async (file) => {
      await rm(file);
      await rm(`${file}-wal`, { force: true });
    },
    found: /svc\.db: it held data and is now missing/,
    told: /svc\.db held data and is now missing; restore a backup of it/,
  },
  "without its head, its log there": {
    lose: async (file) => {
      await writeFile(file, Buffer.alloc(100), { flag: "r+" });
    },
    found: /svc\.db: it has no SQLite header: it was overwritten/,
    told: /svc\.db is not an SQLite database; move it away or name another file/,
  },
};

it("a gateway with a lost database reports it, and so does svc doctor", { timeout: 120_000 }, async (t) => {
  const stateDir = directory(t);
  const first = await startGatewayProcess(stateDir);
  const client = await first.connect();
  await client.call(chat.send, { sessionKey: "main", message: "echo kept", idempotencyKey: "kept" });
  assert.equal((await client.call(agents.wait, { runId: "kept" })).status, "ok");
  await first.kill();
  for (const [what, { lose, told, found }] of Object.entries(LOSSES))
    await t.test(what, async (inner) => {
      const copy = directory(inner);
      await cp(stateDir, copy, { recursive: true, filter: (source) => !source.endsWith(".sock") });
      await lose(join(copy, DATABASE));
      const lost = await stateOf(join(copy, DATABASE));
      const doctor = await svc(copy, ["doctor"]);
      assert.equal(doctor.code, 1, doctor.stderr);
      assert.match(doctor.stdout, found);
      const gateway = await startGatewayProcess(copy);
      inner.after(() => gateway.kill());
      assert.match(gateway.log(), told);
      assert.equal((await fetch(`${gateway.url.replace("ws:", "http:")}/readyz`)).status, 503);
      const again = await gateway.connect();
      for (const method of ["chat.history", "sessions.list"]) {
        const params = method === "chat.history" ? { sessionKey: "main" } : {};
        await assert.rejects(again.request(method, params), { code: "UNAVAILABLE" }, method);
      }
      await again.close();
      assert.equal(await gateway.kill("SIGTERM"), 0);
      assert.equal(await stateOf(join(copy, DATABASE)), lost, "the database was made anew");
    });
});

/** `missing`, `empty`, or the first 15 bytes of the file. */
async function stateOf(file: string): Promise<string> {
  const bytes = await readFile(file).catch(() => undefined);
  return bytes === undefined ? "missing" : bytes.length === 0 ? "empty" : bytes.subarray(0, 15).toString();
}
