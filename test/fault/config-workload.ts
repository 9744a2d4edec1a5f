/** Many writers of one configuration file: each increments its own key, so that a lost write is detected. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { GatewayClient } from "@svc/sdk/client";
import { config } from "@svc/sdk/config";
import { svc } from "../run-svc.ts";
import { isConflict, pause, readAudit, type Workload } from "./workload.ts";

/** Milliseconds between two writes of one writer. */
const PACE_MS = 60;

interface Counter {
  tried: number;
  acknowledged: number;
}

interface File {
  meta?: Record<string, number>;
  gateway?: object;
}

export class ConfigWorkload implements Workload {
  readonly #stateDir: string;
  readonly #counters = new Map<string, Counter>();
  readonly #hashes = new Set<string>();
  /** Commands that outlive their gateway. */
  #commands: Promise<unknown> = Promise.resolve();
  acknowledged = 0;
  /** Writes that conflicted with another one. */
  conflicts = 0;

  constructor(stateDir: string) {
    this.#stateDir = stateDir;
  }

  async write(connect: () => Promise<GatewayClient>, over: AbortSignal): Promise<void> {
    await Promise.race([this.#setting(connect), this.#patching(connect), this.#commanding(over)]);
  }

  /** Replaces the whole file, over and over. */
  async #setting(connect: () => Promise<GatewayClient>): Promise<never> {
    const client = await connect();
    for (;;) {
      await pause(PACE_MS); // let the other writers proceed
      await this.#count("set", async (count) => {
        const { raw, hash } = await client.call(config.get, {});
        const file = JSON.parse(raw ?? "{}") as File;
        const auth = { rateLimit: { windowMs: 60_000 + count } };
        const next = { ...file, gateway: { ...file.gateway, auth }, meta: { ...file.meta, set: count } };
        return client.call(config.set, { raw: JSON.stringify(next, null, 2), baseHash: hash });
      });
    }
  }

  /** Three patches per connection: more are refused within a minute. */
  async #patching(connect: () => Promise<GatewayClient>): Promise<never> {
    for (;;) {
      const client = await connect();
      for (let turn = 0; turn < 3; turn++) {
        await pause(PACE_MS);
        await this.#count("patch", async (count) => {
          const { hash } = await client.call(config.get, {});
          // Some patches reload a plugin, which waits for its calls; later writes wait too.
          const slow = count % 4 === 0 ? { "provider-offline": { wordDelayMs: 1 + (count % 8) } } : {};
          const patch = { meta: { patch: count }, ...slow };
          return client.call(config.patch, { raw: JSON.stringify(patch), baseHash: hash });
        });
      }
      await client.close();
    }
  }

  /** The command line, which writes the file itself. */
  async #commanding(over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      const command = this.#count("command", async (count) => {
        const { code, text } = await svc(this.#stateDir, ["config", "set", "meta.command", String(count), "--json"]);
        if (code !== 0) throw new Error(text);
        return JSON.parse(text) as { hash: string };
      });
      this.#commands = command.catch(() => undefined);
      await command;
      await pause(PACE_MS);
    }
  }

  async #count(key: string, write: (count: number) => Promise<{ readonly hash: string }>): Promise<void> {
    const counter = this.#counters.get(key) ?? { tried: 0, acknowledged: 0 };
    this.#counters.set(key, counter);
    const count = ++counter.tried;
    try {
      const { hash } = await write(count);
      this.#hashes.add(hash);
      counter.acknowledged = count;
      this.acknowledged += 1;
    } catch (error) {
      if (!isConflict(error) && !String(error).includes("config changed since last load")) throw error;
      this.conflicts += 1;
    }
  }

  async check(client: GatewayClient, context: string): Promise<void> {
    await this.#commands;
    const path = join(this.#stateDir, "svc.json");
    const { meta = {} } = JSON.parse(await readFile(path, "utf8")) as File;
    for (const [key, { tried, acknowledged }] of this.#counters) {
      const value = meta[key] ?? 0;
      assert.ok(
        value >= acknowledged,
        `${context}: write ${acknowledged} of ${key} was acknowledged, ${value} is there`,
      );
      assert.ok(value <= tried, `${context}: ${key} is ${value}, and nobody wrote more than ${tried}`);
    }
    const { valid, issues } = await client.call(config.get, {});
    assert.deepEqual({ valid, issues }, { valid: true, issues: [] }, context);
    for (const name of await readdir(this.#stateDir)) {
      if (!name.startsWith("svc.json.bak")) continue;
      JSON.parse(await readFile(join(this.#stateDir, name), "utf8")); // throws for a partial backup
    }
    const { lines, torn } = await readAudit(this.#stateDir);
    assert.equal(torn, 0, `${context}: the audit log has lines that are not whole`);
    const audited = new Set(lines.flatMap(({ result, nextHash }) => (result === "rename" ? [String(nextHash)] : [])));
    const missing = [...this.#hashes].filter((hash) => !audited.has(hash));
    assert.deepEqual(missing, [], `${context}: acknowledged writes are missing from the audit log`);
  }
}
