/** S-07: 50 writers of one configuration at three gateways, of which some are killed: no acknowledged change is lost. A gateway that starts uses it at once. */

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import type { GatewayClient } from "@svc/sdk/client";
import { config } from "@svc/sdk/config";
import { emptySchema } from "../postgres.ts";
import { svc } from "../run-svc.ts";
import { until } from "../until.ts";
import { type Gateways, startGateways } from "./gateways.ts";
import { isConflict, pause, refusalOf } from "./workload.ts";

const WRITERS = 50;
/** Acknowledged changes of each. */
const WRITES = 2;
const KILL_MS = 5_000;
const TOKEN = "token-of-all-gateways-1";
const OTHER_TOKEN = "token-of-all-gateways-2";

/** Directory with the configuration of each gateway. */
async function directory(t: TestContext, text: string): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "svc-config-"));
  t.after(() => rm(path, { recursive: true, force: true }));
  await writeFile(join(path, "svc.json"), text);
  return path;
}

/** A client of some gateway that runs, with the token of the configuration. */
async function clientOf({ running }: Gateways, index: number, token: string): Promise<GatewayClient> {
  const alive = running.filter((gateway) => gateway !== undefined);
  const gateway = alive[index % alive.length];
  assert.ok(gateway);
  return gateway.connect({ token });
}

const TEXT = JSON.stringify({ gateway: { auth: { token: TOKEN } }, meta: {} });

async function configured(t: TestContext, count: number) {
  const gateways = await startGateways(t, count, await directory(t, TEXT), { token: TOKEN });
  const client = await clientOf(gateways, 0, TOKEN);
  assert.deepEqual(await client.call(config.move, { to: "database" }), { ok: true, isMoved: true });
  await client.close();
  return gateways;
}

/** Parsed file of each gateway that runs. */
const filesOf = ({ running, directories }: Gateways) =>
  Promise.all(
    directories
      .filter((_, number) => running[number])
      .map(
        async (path) => JSON.parse(await readFile(join(path, "svc.json"), "utf8")) as { meta: Record<string, number> },
      ),
  );

describe("one configuration of several gateways", { timeout: 300_000 }, () => {
  it("loses no change of 50 writers, while gateways are killed", async (t) => {
    const gateways = await configured(t, 3);
    const over = new AbortController();
    const conflicts: string[] = [];
    const uncertain = new Map<string, number>();
    const writer = async (index: number) => {
      const key = `writer${index}`;
      for (let count = 1; count <= WRITES;) {
        let client: GatewayClient | undefined;
        try {
          client = await clientOf(gateways, index, TOKEN);
          const { raw, hash } = await client.call(config.get, {});
          const file = JSON.parse(raw ?? "{}") as { meta: Record<string, number> };
          const there = file.meta[key] ?? 0;
          const isThere = there === count - 1 || (there === count && uncertain.get(key) === count);
          assert.ok(isThere, `${key} was ${count - 1} and is ${there}`);
          if (there < count) {
            uncertain.set(key, count);
            const next = { ...file, meta: { ...file.meta, [key]: count } };
            await client.call(config.set, { raw: JSON.stringify(next), baseHash: hash });
          }
          count += 1;
        } catch (error) {
          if (error instanceof assert.AssertionError) throw error;
          if (isConflict(error)) conflicts.push(key);
          else await pause(100); // its gateway was killed
        } finally {
          await client?.close();
        }
      }
    };
    const killing = async () => {
      for (let round = 0; !over.signal.aborted; round++) {
        await pause(KILL_MS);
        if (over.signal.aborted) break;
        await gateways.kill(round % 3);
        await pause(300);
        await gateways.start(round % 3);
      }
    };
    const killer = killing();
    await Promise.all(Array.from({ length: WRITERS }, (_, index) => writer(index))).finally(() => over.abort());
    await killer;
    assert.ok(conflicts.length > WRITERS, "writers had conflicts");
    const wanted = Object.fromEntries(Array.from({ length: WRITERS }, (_, index) => [`writer${index}`, WRITES]));
    const metas = async () =>
      (await filesOf(gateways)).map(({ meta: { lastTouchedVersion: _version, lastTouchedAt: _at, ...meta } }) => meta);
    await until(async () => (await metas()).every((meta) => Object.keys(meta).length === WRITERS), "all copies");
    assert.deepEqual(await metas(), [wanted, wanted, wanted]);
  });

  it("applies at once everywhere: a changed token ends the clients of all gateways", async (t) => {
    const gateways = await configured(t, 2);
    const clients = await Promise.all([0, 1].map((index) => clientOf(gateways, index, TOKEN)));
    const closed = clients.map((client) => new Promise((resolve) => client.onClose(resolve)));
    const { hash } = await (clients[0] as GatewayClient).call(config.get, {});
    const raw = JSON.stringify({ gateway: { auth: { token: OTHER_TOKEN } } });
    const change = (clients[0] as GatewayClient).call(config.patch, { raw, baseHash: hash }).catch(() => undefined); // its connection may end before the answer
    await Promise.all([...closed, change]);
    for (const index of [0, 1]) {
      assert.match(
        ((await clientOf(gateways, index, TOKEN).then(String, refusalOf)) as { message: string }).message,
        /token/,
      );
      await (await clientOf(gateways, index, OTHER_TOKEN)).close();
    }
  });

  it("is that of a gateway that starts, before it accepts a client; svc config set at any of them changes it", async (t) => {
    const gateways = await configured(t, 1);
    const [first] = gateways.directories;
    const second = await directory(t, "{}");
    await rm(join(second, "svc.json"));
    await gateways.add(second);
    const client = await clientOf(gateways, 1, TOKEN);
    const { isShared } = (await client.call(config.get, {})).running ?? {};
    assert.equal(isShared, true);
    await client.close();
    const env = { SVC_GATEWAY_TOKEN: TOKEN };
    const set = await svc(second, ["config", "set", "meta.note", "mine"], env);
    assert.match(set.text, /The gateway uses it\./);
    await until(async () => (await readFile(join(first ?? "", "svc.json"), "utf8")).includes("mine"), "the other copy");
    await gateways.kill(1);
    const later = await svc(second, ["config", "set", "meta.note", "later"], env);
    assert.match(later.text, /The file is a copy of the configuration in the database/);
    await gateways.start(1);
    await until(
      async () => (await readFile(join(first ?? "", "svc.json"), "utf8")).includes("later"),
      "the other copy",
    );
    await gateways.kill(1);
    await svc(first ?? "", ["config", "set", "meta.note", "first"], env);
    await svc(second, ["config", "set", "meta.note", "lost"], env);
    const started = await gateways.start(1);
    assert.match(started.log(), /a change of the configuration file was not used: another gateway has changed/);
    assert.match(await readFile(join(second, "svc.json"), "utf8"), /first/);
    assert.match(await readFile(join(second, "svc.json.bak"), "utf8"), /lost/);
  });

  it("goes back to the file of each", async (t) => {
    const gateways = await configured(t, 2);
    const [first = "", second = ""] = gateways.directories;
    const env = { SVC_GATEWAY_TOKEN: TOKEN };
    const moved = await svc(first, ["config", "move", "--to", "file"], env);
    assert.match(moved.text, /Each gateway uses its own configuration file now/);
    const set = await svc(first, ["config", "set", "meta.note", "mine"], env);
    assert.match(set.text, /The gateway uses it\./);
    await pause(6_000); // longer than the time between two checks
    assert.doesNotMatch(await readFile(join(second, "svc.json"), "utf8"), /mine/);
  });

  it("is refused for a gateway alone on its database file", async (t) => {
    const stateDir = await directory(t, TEXT);
    const gateways = await startGateways(t, 1, stateDir, { token: TOKEN, url: await emptySchema() });
    await gateways.kill(0);
    const refusal = await svc(stateDir, ["config", "move", "--to", "database"]);
    assert.notEqual(refusal.code, 0);
    assert.match(refusal.text, /Next: start it with: svc gateway run/);
    const wrong = await svc(stateDir, ["config", "move"]);
    assert.match(wrong.text, /--to database or --to file/);
  });
});
