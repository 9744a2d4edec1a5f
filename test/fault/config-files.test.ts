/**
 * Damage to the configuration file of a running gateway, by an operator, an editor or a broken disk: the gateway keeps its
 * configuration, reports the error, and applies the next valid file.
 */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, open, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { agents } from "@svc/sdk/agents";
import type { GatewayClient } from "@svc/sdk/client";
import { config } from "@svc/sdk/config";
import { type GatewayProcess, startGatewayProcess } from "../gateway-process.ts";
import { svc } from "../run-svc.ts";
import { until } from "../until.ts";
import { pause, refusalOf } from "./workload.ts";

const AGENTS = ["first", "second"] as const;
/** The name of the default agent shows which file is used. */
const good = (agent: string) =>
  JSON.stringify({ gateway: { reload: { debounceMs: 20 } }, agents: { list: [{ id: agent }] } });

describe("a configuration file that", () => {
  let stateDir = "";
  let path = "";
  let gateway: GatewayProcess;
  let client: GatewayClient;
  let turn = 0;

  before(async () => {
    stateDir = await mkdtemp(join(tmpdir(), "svc-config-files-"));
    path = join(stateDir, "svc.json");
    await writeFile(path, good("first"));
    gateway = await startGatewayProcess(stateDir);
    client = await gateway.connect();
  });
  after(async () => {
    await client.close();
    await gateway.kill();
    await rm(stateDir, { recursive: true, force: true });
  });

  async function isUsed(name: string): Promise<boolean> {
    const { defaultId } = await client.call(agents.list, {});
    return defaultId === name;
  }

  /** Both ways report the error, the gateway keeps running, and patches are refused. */
  async function assertReported(issue: RegExp): Promise<void> {
    const { valid, issues } = await client.call(config.get, {});
    assert.equal(valid, false);
    assert.match(issues.map(({ message }) => message).join("; "), issue);
    const { code, text } = await svc(stateDir, ["config", "validate"]);
    assert.equal(code, 1, text);
    assert.match(text, issue);
    assert.equal(await isUsed(AGENTS[turn % 2] ?? ""), true, "what ran goes on");
    const patched = await client.call(config.patch, { raw: "{}", baseHash: "0".repeat(64) }).catch(refusalOf);
    assert.ok("code" in patched, "a broken file is not patched");
  }

  /** By rename, as editors do. */
  async function assertGoodIsTaken(): Promise<void> {
    const agent = AGENTS[++turn % 2] ?? "";
    await writeFile(`${path}.new`, good(agent));
    await rename(`${path}.new`, path);
    await assertIsTaken();
  }

  async function assertIsTaken(): Promise<void> {
    await until(() => isUsed(AGENTS[turn % 2] ?? ""), "the good file is used");
    const { valid, issues } = await client.call(config.get, {});
    assert.deepEqual({ valid, issues }, { valid: true, issues: [] });
  }

  it("is written in pieces is used only when it is complete", { timeout: 120_000 }, async () => {
    const former = AGENTS[turn % 2] ?? "";
    const text = good(AGENTS[(turn + 1) % 2] ?? "");
    const file = await open(path, "w");
    for (let at = 0; at < text.length; at += 12) {
      await file.write(text.slice(at, at + 12));
      await pause(60);
      if (at + 12 < text.length) assert.equal(await isUsed(former), true, "half a file is not used");
    }
    await file.close();
    turn += 1;
    await assertIsTaken();
  });

  const broken: readonly [name: string, issue: RegExp, make: () => Promise<unknown>][] = [
    ["ends half-way", /JSON5|end of input/i, () => writeFile(path, good("second").slice(0, 30))],
    ["became a directory", /EISDIR|directory/, async () => (await rm(path), await mkdir(path))],
    ["is 3 MiB", /larger than 2 MiB/, () => writeFile(path, JSON.stringify({ meta: { text: "x".repeat(3 << 20) } }))],
    ["is binary", /not UTF-8/, () => writeFile(path, Buffer.from([0xff, 0xfe, 0, 1, 2, 0x80]))],
    [
      "is nested 200,000 deep",
      /levels of nested objects|too deep|stack|JSON5/i,
      () => writeFile(path, `{"meta":${"[".repeat(200_000)}${"]".repeat(200_000)}}`),
    ],
    ["includes itself", /circular|itself|levels/i, () => writeFile(path, '{ "$include": "./svc.json" }')],
    [
      "includes thousands of files",
      /more than 256 included files/,
      async () => {
        await writeFile(join(stateDir, "part.json"), "{}");
        await writeFile(path, JSON.stringify({ $include: Array.from({ length: 5_000 }, () => "./part.json") }));
      },
    ],
    ["holds a wrong value", /must be integer/, () => writeFile(path, '{ "gateway": { "port": "many" } }')],
  ];
  for (const [name, issue, make] of broken) {
    it(`${name} is reported, and the next good one is used`, { timeout: 120_000 }, async () => {
      await make();
      await pause(400); // time for the watcher to read it
      await assertReported(issue);
      if (name.includes("directory")) await rm(path, { recursive: true });
      await assertGoodIsTaken();
    });
  }

  for (const [name, make] of [
    ["is gone", () => rm(path)],
    ["is a link to nowhere", () => rm(path).then(() => symlink(join(stateDir, "nowhere"), path))],
  ] as const) {
    it(`${name} does not affect the gateway until there is a file again`, { timeout: 120_000 }, async () => {
      await make();
      await pause(400);
      const { exists } = await client.call(config.get, {});
      assert.equal(exists, false);
      assert.equal(await isUsed(AGENTS[turn % 2] ?? ""), true, "not turned to the defaults");
      await assertGoodIsTaken();
    });
  }

  it("was broken in each of these ways, is replaced with config.set", { timeout: 120_000 }, async () => {
    await writeFile(path, "{ half");
    const { hash } = await client.call(config.get, {});
    const agent = AGENTS[++turn % 2] ?? "";
    await client.call(config.set, { raw: good(agent), baseHash: hash });
    assert.equal(await isUsed(agent), true);
  });
});
