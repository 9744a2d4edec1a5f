/** An install killed at any point leaves the old or the new version, and the next install works. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { leftovers } from "../../plugins/plugins/install/generations.ts";
import { extensionsOf, readRecord } from "../../host/installed/record.ts";
import { verifyInstalled } from "../../host/installed/verify.ts";
import { packPackage } from "../plugin-package.ts";
import type { StepOrder } from "./install-step.ts";

const ID = "killed";

describe("a killed install", { timeout: 240_000 }, () => {
  const directory = mkdtempSync(join(tmpdir(), "svc-kill-install-"));
  const old = join(directory, "old");
  const archives: string[] = [];
  let points = 0;
  after(() => rmSync(directory, { recursive: true, force: true }));

  /** @returns the output; `undefined` if it was killed */
  async function run(order: Omit<StepOrder, "spec"> & { readonly version?: number }): Promise<string | undefined> {
    const { version = 1, ...rest } = order;
    const told: StepOrder = { spec: archives[version] ?? "", ...rest };
    const script = fileURLToPath(new URL("./install-step.js", import.meta.url));
    const env = {
      ...process.env,
      npm_config_cache: join(directory, "cache"),
      npm_config_registry: "http://127.0.0.1:1/",
    };
    const child = spawn(process.execPath, [script, JSON.stringify(told)], { env, stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (said += chunk.toString()));
    const [code, signal] = (await once(child, "close")) as [number | null, string | null];
    if (signal === "SIGKILL") return undefined;
    assert.equal(code, 0, said);
    return said;
  }

  /** The active version, with all its files as installed; `undefined` if there is none. */
  async function counts(stateDir: string): Promise<string | undefined> {
    const extensions = extensionsOf(stateDir);
    const installed = readRecord(extensions);
    assert.ok(!("problem" in installed), JSON.stringify(installed));
    const plugin = installed.get(ID);
    if (!plugin) return undefined;
    await verifyInstalled(ID, plugin, extensions);
    return plugin.version;
  }

  /** Asserts that the killed install left nothing behind. */
  function isTidy(stateDir: string): void {
    const extensions = extensionsOf(stateDir);
    const installed = readRecord(extensions);
    assert.ok(!("problem" in installed));
    assert.deepEqual(leftovers(extensions, installed), []);
    if (existsSync(extensions)) assert.ok(!readdirSync(extensions).includes(".lock"));
  }

  before(async () => {
    for (const version of ["1.0.0", "2.0.0", "3.0.0"])
      archives.push(await packPackage(join(directory, version), { name: ID, version }));
    mkdirSync(old);
    await run({ stateDir: old, dieBefore: 0, version: 0 });
    assert.equal(await counts(old), "1.0.0");
    const copy = join(directory, "counted");
    cpSync(old, copy, { recursive: true, verbatimSymlinks: true });
    points = Number(await run({ stateDir: copy, dieBefore: 0 }));
    assert.ok(points > 20, `only ${points} points`);
  });

  it("leaves the old or the new version wherever it is killed, and the next install works", async () => {
    const seen: string[] = [];
    const kill = async (point: number) => {
      const stateDir = join(directory, `at-${point}`);
      cpSync(old, stateDir, { recursive: true, verbatimSymlinks: true });
      assert.equal(await run({ stateDir, dieBefore: point }), undefined, `point ${point} was not reached`);
      const version = await counts(stateDir);
      assert.ok(version === "1.0.0" || version === "2.0.0", `point ${point}: ${version}`);
      seen[point] = version;
      // Only every eighth state, and the last one, get another install.
      if (point % 8 !== 0 && point !== points) return;
      await run({ stateDir, dieBefore: 0, version: 2 });
      assert.equal(await counts(stateDir), "3.0.0", `after point ${point}`);
      isTidy(stateDir);
    };
    const all = Array.from({ length: points }, (_, index) => index + 1);
    const half = [all.filter((point) => point % 2 === 0), all.filter((point) => point % 2 === 1)];
    await Promise.all(
      half.map(async (some) => {
        for (const point of some) await kill(point);
      }),
    );
    const order = seen.filter((version) => version !== undefined);
    assert.deepEqual(order, [...order].sort()); // once the new version is active, it stays active
    assert.deepEqual(new Set(order), new Set(["1.0.0", "2.0.0"]));
  });

  it("leaves the plugin or nothing of it when a removal is killed", async () => {
    const seen = new Set<string | undefined>();
    for (let point = 1; ; point += 1) {
      const stateDir = join(directory, `removal-${point}`);
      cpSync(old, stateDir, { recursive: true, verbatimSymlinks: true });
      const ended = await run({ stateDir, dieBefore: point, remove: ID });
      seen.add(await counts(stateDir));
      if (ended !== undefined) {
        assert.equal(existsSync(extensionsOf(stateDir)) && readdirSync(extensionsOf(stateDir)).includes(ID), false);
        break;
      }
    }
    assert.deepEqual(seen, new Set(["1.0.0", undefined]));
  });
});
