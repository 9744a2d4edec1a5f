/** Many writers start from one state of the configuration: exactly one wins, the others get a conflict. Spec: design/reliability.md. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { config } from "@svc/sdk/config";
import { startGatewayProcess } from "../gateway-process.ts";
import { svc } from "../run-svc.ts";
import { readAudit, refusalOf, ROUNDS } from "./workload.ts";

const WRITERS = ["a", "b", "c", "d"];
/** Acknowledged writes per writer. */
const WRITES = 100;
const MODULES = ["write-file.js", "parse.js"].map((name) => new URL(`../../host/config/${name}`, import.meta.url).href);

const SOCKETS = 8;
const COMMANDS = 2;
const CONFLICT = "config changed since last load; re-run config.get and retry";

it("one of many writers on one base hash wins, the others get a conflict", { timeout: 300_000 }, async (t) => {
  const stateDir = await mkdtemp(join(tmpdir(), "svc-race-"));
  const gateway = await startGatewayProcess(stateDir);
  t.after(async () => {
    await gateway.kill();
    await rm(stateDir, { recursive: true, force: true });
  });
  const clients = await Promise.all(Array.from({ length: SOCKETS }, () => gateway.connect()));
  t.after(() => Promise.all(clients.map((client) => client.close())));
  const [first] = clients;
  assert.ok(first);
  await first.call(config.set, { raw: JSON.stringify({ meta: {} }) });
  const written = async () =>
    (JSON.parse(await readFile(join(stateDir, "svc.json"), "utf8")) as { meta: Record<string, number> }).meta;

  for (let round = 1; round <= ROUNDS; round++) {
    // The command line reads the file itself: it may win in addition to one of the others, or gets the conflict.
    const commands = Array.from({ length: round % 2 === 0 ? COMMANDS : 0 }, async (_, index) => {
      const { code, text } = await svc(stateDir, ["config", "set", `meta.command${index}`, String(round)]);
      if (code !== 0) assert.match(text, /config changed since last load/);
      return { key: `command${index}`, isDone: code === 0 };
    });
    const isAlone = commands.length === 0;
    const { raw, hash } = await first.call(config.get, {});
    const { meta } = JSON.parse(raw ?? "{}") as { meta: object };
    const outcomes: (true | ReturnType<typeof refusalOf>)[] = await Promise.all(
      clients.map(async (client, index): Promise<true | ReturnType<typeof refusalOf>> => {
        const next = JSON.stringify({ meta: { ...meta, [`socket${index}`]: round } });
        return client.call(config.set, { raw: next, baseHash: hash }).then(() => true as const, refusalOf);
      }),
    );
    const losers: unknown[] = outcomes.filter((outcome) => outcome !== true);
    for (const loser of losers) assert.deepEqual(loser, { code: "INVALID_REQUEST", message: CONFLICT });
    const winners = outcomes.flatMap((outcome, index) => (outcome === true ? [`socket${index}`] : []));
    // if a command wrote first, all of them lose
    assert.ok(isAlone ? winners.length === 1 : winners.length <= 1, `round ${round}: ${winners.join(" and ")} won`);
    const done = (await Promise.all(commands)).flatMap(({ key, isDone }) => (isDone ? [key] : []));
    const now = await written();
    for (const key of [...winners, ...done])
      assert.equal(now[key], round, `round ${round}: the write of ${key} is lost`);
    for (const [key, value] of Object.entries(now)) {
      if (value === round)
        assert.ok([...winners, ...done].includes(key), `round ${round}: ${key} was refused and is there`);
    }
  }
  const { torn } = await readAudit(stateDir);
  assert.equal(torn, 0);
});

/** Increments a value under its own key, each time from the current file; reports a lost write. */
const WRITER = `
  import { readFile } from "node:fs/promises";
  const [path, key, writes, ...modules] = process.argv.slice(1);
  const [{ writeConfigFile }, { sha256 }] = await Promise.all(modules.map((url) => import(url)));
  for (let count = 0; count < Number(writes); ) {
    const text = await readFile(path, "utf8");
    const file = JSON.parse(text);
    if ((file[key] ?? 0) !== count) throw new Error(key + " was " + count + " and is " + file[key]);
    const next = JSON.stringify({ ...file, [key]: count + 1 });
    await writeConfigFile(path, next, { expectedHash: sha256(text) }).then(
      () => count++,
      (error) => { if (error.code !== "INVALID_REQUEST") throw error; },
    );
  }`;

it("processes that write without a pause lose nothing of each other's", { timeout: 120_000 }, async (t) => {
  const directory = await mkdtemp(join(tmpdir(), "svc-race-"));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const path = join(directory, "svc.json");
  await writeFile(path, "{}");
  const exits = WRITERS.map(async (key) => {
    const args = ["--input-type=module", "-e", WRITER, path, key, String(WRITES), ...MODULES];
    const [code] = (await once(spawn(process.execPath, args, { stdio: "inherit" }), "exit")) as [number];
    return code;
  });
  assert.deepEqual(
    await Promise.all(exits),
    WRITERS.map(() => 0),
  );
  const expected = Object.fromEntries(WRITERS.map((key) => [key, WRITES]));
  assert.deepEqual(JSON.parse(await readFile(path, "utf8")), expected);
});
