/** One gateway acts on a file: another one waits until it has ended. */
// own process: SQLite's locks are those of a process
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { agents } from "@svc/sdk/agents";
import { chat } from "@svc/sdk/chat";
import { plugins } from "@svc/sdk/plugins";
import { createOwnership } from "@svc/kit/storage";
import { openStorage } from "../../../plugins/storage-sqlite/storage.ts";
import { startGatewayProcess } from "../../gateway-process.ts";
import { directory } from "../../directory.ts";
import { until } from "../../until.ts";

const log = { info: () => undefined, warn: () => undefined };

it("everything is free for the only gateway, without a lease", async (t) => {
  const { storage, isAlone, close } = await openStorage({ file: join(directory(t), "svc.db") });
  t.after(close);
  const { ownership, join: joins, leave } = createOwnership({ storage, isAlone, clock: Date, log, name: "test" });
  await joins();
  const owner = await ownership.owner();
  assert.deepEqual(
    [ownership.aheadMs, owner.isCurrent, await owner.take("r"), await storage.all("SELECT * FROM svc_gateways")],
    [0, true, true, []],
  );
  const { sql, params } = owner.free("column1");
  const values = `VALUES (NULL), ('${owner.id}'), ('${owner.id}0'), ('somebody else')`;
  const free = await storage.all<{ column1: string | null }>(`SELECT column1 FROM (${values}) WHERE ${sql}`, params);
  assert.deepEqual(
    free.map(({ column1 }) => column1),
    [null, `${owner.id}0`, "somebody else"],
  );
  await leave();
  assert.equal(owner.signal.aborted, true);
});

it("a second gateway on the file serves, and acts when the first has ended", { timeout: 120_000 }, async (t) => {
  const [first, second] = [directory(t), directory(t)];
  const file = join(first, "shared.db");
  const env = { SVC_SKIP_CRON: "1" };
  const shared = async (stateDir: string) => {
    await writeFile(join(stateDir, "svc.json"), JSON.stringify({ "storage-sqlite": { file } }));
    const gateway = await startGatewayProcess(stateDir, env);
    t.after(() => gateway.kill());
    return gateway;
  };
  const one = await shared(first);
  const two = await shared(second);
  const client = await two.connect();
  t.after(() => client.close());
  const send = () => client.call(chat.send, { sessionKey: "main", message: "echo hi", idempotencyKey: "r" });
  await assert.rejects(send(), { code: "UNAVAILABLE" });
  const why = async () => (await client.call(plugins.list, {})).plugins.find(({ id }) => id === "agents")?.reason ?? "";
  assert.match(await why(), /another gateway uses the database .+shared\.db; this one acts when that one has ended/);
  await one.kill();
  await until(
    () =>
      send().then(
        () => true,
        () => false,
      ),
    "the second one to act",
  );
  assert.equal((await client.call(agents.wait, { runId: "r", timeoutMs: 60_000 })).status, "ok");
});
